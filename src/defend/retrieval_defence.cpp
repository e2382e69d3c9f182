#include "casemate/defend/retrieval_defence.h"

namespace casemate {

Result<std::size_t> RetrievalDefence::precompute(std::string_view /*tenant*/,
                                                 std::span<const PassageCandidate> /*passages*/,
                                                 std::stop_token /*stop*/) const {
  return std::size_t{0};
}

}  // namespace casemate
