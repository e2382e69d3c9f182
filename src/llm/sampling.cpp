#include "llm/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace casemate::llm {
namespace {

double log_sum_exp(std::span<const float> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float value : logits) sum += std::exp(static_cast<double>(value) - largest);
  return largest + std::log(sum);
}

}  // namespace

TokenId argmax(std::span<const float> logits) {
  TokenId best = -1;
  float best_value = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > best_value) {
      best_value = logits[i];
      best = static_cast<TokenId>(i);
    }
  }
  return best;
}

Result<std::vector<float>> log_softmax(std::span<const float> logits) {
  const bool broken = std::any_of(logits.begin(), logits.end(), [](float value) { return std::isnan(value); });
  if (broken || argmax(logits) < 0) return Error{ErrorCode::kModel, "the model's output is not a number"};
  const double total = log_sum_exp(logits);
  if (!std::isfinite(total)) return Error{ErrorCode::kModel, "the model's output is not finite"};
  std::vector<float> out(logits.size());
  std::transform(logits.begin(), logits.end(), out.begin(),
                 [&](float value) { return static_cast<float>(static_cast<double>(value) - total); });
  return out;
}

double log_probability(std::span<const float> logits, TokenId id) {
  return static_cast<double>(logits[static_cast<std::size_t>(id)]) - log_sum_exp(logits);
}

std::vector<TokenId> likeliest(std::span<const float> logits, std::size_t count) {
  std::vector<TokenId> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  count = std::min(count, ids.size());
  const auto middle = ids.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(ids.begin(), middle, ids.end(), [&](TokenId a, TokenId b) {
    const float va = logits[static_cast<std::size_t>(a)];
    const float vb = logits[static_cast<std::size_t>(b)];
    return va != vb ? va > vb : a < b;
  });
  ids.resize(count);
  return ids;
}

TokenId choose(std::span<const float> logits, const GenerateOptions& options, RandomStream& random) {
  const TokenId best = argmax(logits);
  if (options.temperature <= 0 || best < 0) return best;
  const std::size_t limit = options.top_k > 0 ? static_cast<std::size_t>(options.top_k) : logits.size();
  const std::vector<TokenId> ids = likeliest(logits, limit);
  const double largest = logits[static_cast<std::size_t>(best)];
  std::vector<double> weights(ids.size());
  std::transform(ids.begin(), ids.end(), weights.begin(), [&](TokenId id) {
    return std::exp((static_cast<double>(logits[static_cast<std::size_t>(id)]) - largest) / options.temperature);
  });
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double kept = 0;
  std::size_t count = 0;
  while (count < ids.size() && (count == 0 || kept < options.top_p * total)) kept += weights[count++];
  double draw = random.uniform() * kept;
  for (std::size_t i = 0; i < count; ++i) {
    draw -= weights[i];
    if (draw < 0) return ids[i];
  }
  return ids[count - 1];
}

}  // namespace casemate::llm
