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

/// Not a number is nothing that could be drawn.
float value_of(std::span<const float> logits, TokenId id) {
  const float value = logits[static_cast<std::size_t>(id)];
  return std::isnan(value) ? -std::numeric_limits<float>::infinity() : value;
}

/// Ids by descending logit, equal ones ascending, put in order only as far as somebody looks: the order of a whole
/// vocabulary takes as long as a small model's next token.
class Descending {
 public:
  explicit Descending(std::span<const float> logits) : logits_(logits) {}

  TokenId at(std::size_t i) {
    if (i >= ordered_) order(std::max(i + 1, kStep * ordered_));
    return ids_[i];
  }

 private:
  static constexpr std::size_t kFirst = 64;
  static constexpr std::size_t kStep = 8;

  void order(std::size_t wanted) {
    if (ids_.empty()) {
      ids_.resize(logits_.size());
      std::iota(ids_.begin(), ids_.end(), 0);
    }
    const auto from = ids_.begin() + static_cast<std::ptrdiff_t>(ordered_);
    ordered_ = std::min(std::max(wanted, kFirst), ids_.size());
    const auto to = ids_.begin() + static_cast<std::ptrdiff_t>(ordered_);
    const auto likelier = [this](TokenId a, TokenId b) {
      const float va = value_of(logits_, a);
      const float vb = value_of(logits_, b);
      return va != vb ? va > vb : a < b;
    };
    if (to != ids_.end()) std::nth_element(from, to, ids_.end(), likelier);
    std::sort(from, to, likelier);
  }

  std::span<const float> logits_;
  std::vector<TokenId> ids_;
  std::size_t ordered_ = 0;
};

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
  Descending ids(logits);
  std::vector<TokenId> out(std::min(count, logits.size()));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = ids.at(i);
  return out;
}

TokenId choose(std::span<const float> logits, const GenerateOptions& options, RandomStream& random) {
  const TokenId best = argmax(logits);
  if (options.temperature <= 0 || best < 0) return best;
  const double largest = logits[static_cast<std::size_t>(best)];
  const auto weight = [&](TokenId id) {
    const double value = value_of(logits, id);
    return std::exp((value - largest) / options.temperature);
  };
  Descending ids(logits);
  std::size_t count = logits.size();
  double kept = 0;
  if (options.top_k > 0 && static_cast<std::size_t>(options.top_k) < count) {
    count = static_cast<std::size_t>(options.top_k);
    for (std::size_t i = 0; i < count; ++i) kept += weight(ids.at(i));
  } else {
    for (std::size_t i = 0; i < count; ++i) kept += weight(static_cast<TokenId>(i));
  }
  if (options.top_p < 1) {
    const double enough = options.top_p * kept;
    const std::size_t most = count;
    kept = 0;
    for (count = 0; count < most && (count == 0 || kept < enough); ++count) kept += weight(ids.at(count));
  }
  double draw = random.uniform() * kept;
  TokenId last = best;
  for (std::size_t i = 0; i < count; ++i) {
    const double each = weight(ids.at(i));
    if (each <= 0) break;  // so are all that follow; `kept` was a rounding error more than its parts
    last = ids.at(i);
    draw -= each;
    if (draw < 0) break;
  }
  return last;
}

}  // namespace casemate::llm
