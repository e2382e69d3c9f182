// src/attack/token_pool.h
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "casemate/encoder/differentiable_encoder.h"

namespace casemate {

/// The vocabulary that an attack may write: no special and no unused tokens, and only those whose text is printable and
/// gives the token back, or continues a word.
class TokenPool {
 public:
  /// `encoder` must outlive it.
  explicit TokenPool(const DifferentiableEncoder& encoder);

  [[nodiscard]] std::span<const TokenId> allowed() const noexcept { return allowed_; }

  /// At most `count` tokens whose replacement of `current` promises to raise the objective, that is, whose
  /// gradient . (embedding - embedding of current) is positive: the most promising first, equal ones by id.
  /// `gradient` is [hidden]. Thread-safe.
  [[nodiscard]] std::vector<TokenId> best(std::span<const float> gradient, TokenId current, std::size_t count) const;

 private:
  const DifferentiableEncoder& encoder_;
  std::vector<TokenId> allowed_;
};

}  // namespace casemate
