// src/text/roberta_framing.h
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <utility>
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

/// A tokenizer with that framing: cuts special tokens out, leaves ordinary text to the subclass.
class RobertaTokenizer : public Tokenizer {
 public:
  [[nodiscard]] Tokens tokenize(std::string_view text, SpecialTokens mode) const final;
  [[nodiscard]] bool is_special(TokenId id) const noexcept final { return framing_.is_special(id); }
  [[nodiscard]] std::span<const TokenId> prefix() const noexcept final { return framing_.prefix(); }
  [[nodiscard]] std::span<const TokenId> suffix() const noexcept final { return framing_.suffix(); }
  [[nodiscard]] std::span<const TokenId> pair_separator() const noexcept final { return framing_.pair_separator(); }
  [[nodiscard]] TokenId mask_id() const noexcept final { return framing_.mask(); }
  [[nodiscard]] TokenId unknown_id() const noexcept override { return framing_.unknown(); }
  [[nodiscard]] TokenId padding_id() const noexcept final { return framing_.padding(); }

 protected:
  explicit RobertaTokenizer(RobertaFraming framing) : framing_(std::move(framing)) {}
  /// Appends the tokens of `text`, which holds no special token; spans are shifted by `offset`.
  virtual void tokenize_ordinary(std::string_view text, std::size_t offset, Tokens& tokens) const = 0;

 private:
  RobertaFraming framing_;
};

}  // namespace casemate
