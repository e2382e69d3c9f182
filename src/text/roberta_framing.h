// src/text/roberta_framing.h
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/text/bpe_tokenizer.h"
#include "text/special_token_matcher.h"

namespace casemate {

/// What RoBERTa-style tokenizers share: <s> text </s>, pairs joined by </s></s>, and their special tokens.
class RobertaFraming {
 public:
  /// Error: InvalidInput where <s>, </s> or <pad> is not among `tokens`.
  [[nodiscard]] static Result<RobertaFraming> create(const std::vector<AddedToken>& tokens);

  [[nodiscard]] bool is_special(TokenId id) const;
  [[nodiscard]] const SpecialTokenMatcher& matcher() const { return matcher_; }
  [[nodiscard]] std::span<const TokenId> prefix() const { return prefix_; }
  [[nodiscard]] std::span<const TokenId> suffix() const { return suffix_; }
  [[nodiscard]] std::span<const TokenId> pair_separator() const { return separator_; }
  [[nodiscard]] TokenId mask() const { return mask_; }
  [[nodiscard]] TokenId unknown() const { return unknown_; }
  [[nodiscard]] TokenId padding() const { return padding_; }

 private:
  SpecialTokenMatcher matcher_;
  std::vector<TokenId> specials_;
  std::array<TokenId, 1> prefix_{};
  std::array<TokenId, 1> suffix_{};
  std::array<TokenId, 2> separator_{};
  TokenId mask_ = -1;
  TokenId unknown_ = -1;
  TokenId padding_ = -1;
};

}  // namespace casemate
