#include "casemate/retrieve/stage_evidence.h"

namespace casemate {

std::string_view decision_name(Decision decision) noexcept {
  switch (decision) {
    case Decision::kKept:
      return "kept";
    case Decision::kDropped:
      return "dropped";
    case Decision::kMoved:
      return "moved";
    case Decision::kMasked:
      return "masked";
  }
  return "kept";
}

}  // namespace casemate
