#include <algorithm>
#include <cmath>
#include <numeric>
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

Result<SparseProbabilities> list_probabilities(std::span<const float> log_probabilities, std::size_t most,
                                               std::span<const std::int32_t> wanted) {
  std::vector<std::int32_t> order(log_probabilities.size());
  std::iota(order.begin(), order.end(), 0);
  for (const float value : log_probabilities) {
    if (std::isnan(value)) return Error{ErrorCode::kInvalidArgument, "a log-probability is not a number"};
  }
  const auto likelier = [&](std::int32_t a, std::int32_t b) {
    const float left = log_probabilities[static_cast<std::size_t>(a)];
    const float right = log_probabilities[static_cast<std::size_t>(b)];
    return left > right || (left == right && a < b);
  };
  const std::size_t listed = std::min(most, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(listed), order.end(), likelier);
  std::vector<std::int32_t> tokens(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(listed));
  for (const std::int32_t token : wanted) {
    if (token < 0 || static_cast<std::size_t>(token) >= log_probabilities.size()) {
      return Error{ErrorCode::kInvalidArgument, "a wanted token is not in the vocabulary"};
    }
    tokens.push_back(token);
  }
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());

  SparseProbabilities out;
  for (const std::int32_t token : tokens) {
    const auto value = to_billionths(std::exp(static_cast<double>(log_probabilities[static_cast<std::size_t>(token)])));
    if (!value) return value.error();
    out.listed.push_back({token, *value});
  }
  float largest = -INFINITY;
  for (std::size_t i = listed; i < order.size(); ++i) {
    if (std::binary_search(tokens.begin(), tokens.end(), order[i])) continue;
    largest = std::max(largest, log_probabilities[static_cast<std::size_t>(order[i])]);
  }
  const auto bound = to_billionths(std::exp(static_cast<double>(largest)));
  if (!bound) return bound.error();
  out.largest_unlisted = *bound;
  return out;
}

Result<SparseProbabilities> truncated_probabilities(std::span<const std::int32_t> tokens,
                                                    std::span<const double> probabilities) {
  if (tokens.size() != probabilities.size()) {
    return Error{ErrorCode::kInvalidArgument, "expected as many tokens as probabilities"};
  }
  SparseProbabilities out;
  Billionths smallest = kOne;
  Billionths missing = kOne;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || (i > 0 && tokens[i - 1] >= tokens[i])) {
      return Error{ErrorCode::kInvalidArgument, "expected different, ascending tokens"};
    }
    const auto value = to_billionths(probabilities[i]);
    if (!value) return value.error();
    out.listed.push_back({tokens[i], *value});
    smallest = std::min(smallest, *value);
    missing -= *value;
  }
  out.largest_unlisted = std::clamp<Billionths>(missing, 0, smallest);
  return out;
}

}  // namespace casemate
