#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "casemate/certify/decoding.h"

namespace casemate {

Result<Billionths> to_billionths(double probability) {
  constexpr double kRounding = 1e-6;                          // of a softmax in floats
  if (!(probability >= 0 && probability <= 1 + kRounding)) {  // also NaN
    return Error{ErrorCode::kInvalidArgument, "expected a probability in [0, 1], not " + std::to_string(probability)};
  }
  return std::min<Billionths>(kOne, std::llround(probability * static_cast<double>(kOne)));
}

Result<SparseProbabilities> sparse_probabilities(std::span<const std::pair<std::int32_t, double>> listed,
                                                 double unlisted_at_most) {
  SparseProbabilities out;
  for (const auto& [token, probability] : listed) {
    const auto value = to_billionths(probability);
    if (!value) return value.error();
    out.listed.push_back({token, *value});
  }
  std::sort(out.listed.begin(), out.listed.end(), [](const auto& a, const auto& b) { return a.token < b.token; });
  const auto repeated = std::adjacent_find(out.listed.begin(), out.listed.end(),
                                           [](const auto& a, const auto& b) { return a.token == b.token; });
  if (repeated != out.listed.end() || (!out.listed.empty() && out.listed.front().token < 0)) {
    return Error{ErrorCode::kInvalidArgument, "expected different tokens of the vocabulary"};
  }
  const auto bound = to_billionths(unlisted_at_most);
  if (!bound) return bound.error();
  out.largest_unlisted = *bound;
  return out;
}

Result<std::optional<std::vector<std::int32_t>>> no_retrieval_candidates(
    std::span<const std::pair<std::int32_t, double>> listed, double unlisted_at_most, Billionths epsilon) {
  const auto sparse = sparse_probabilities(listed, unlisted_at_most);
  if (!sparse) return sparse.error();
  Billionths best = 0;
  for (const TokenProbability& entry : sparse->listed) best = std::max(best, entry.probability);
  std::optional<std::vector<std::int32_t>> out;
  if (sparse->listed.empty() || sparse->largest_unlisted >= best - 2 * epsilon) return out;
  out.emplace();
  for (const TokenProbability& entry : sparse->listed) {
    if (entry.probability >= best - 2 * epsilon) out->push_back(entry.token);
  }
  return out;
}

}  // namespace casemate
