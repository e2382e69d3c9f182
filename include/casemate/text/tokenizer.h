// casemate/text/tokenizer.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"

namespace casemate {

using TokenId = std::int32_t;

/// What becomes of special tokens (`[SEP]`, `<s>`) written in a text.
enum class SpecialTokens : std::uint8_t {
  kAsText,       ///< they stay ordinary text: the mode for everything untrusted
  kHuggingFace,  ///< they become the special ids, as Hugging Face's tokenizers do by default
};

/// Where a token comes from: bytes [begin, end) of the text as given.
struct TokenSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  friend bool operator==(const TokenSpan&, const TokenSpan&) = default;
};

/// A tokenised text, without the model's framing tokens ([CLS] ... [SEP]).
struct Tokens {
  std::vector<TokenId> ids;
  std::vector<TokenSpan>
      spans;  ///< one for each id, in order; spans never decrease but may touch or, for split characters, overlap
};

/// Turns text into a model's vocabulary. Immutable, thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  /// Any bytes are accepted; broken UTF-8 counts as U+FFFD. Linear in the text's length.
  [[nodiscard]] virtual Tokens tokenize(std::string_view text, SpecialTokens mode) const = 0;
  /// Text of a sequence of ids; special ids are left out. Out-of-range ids are ignored.
  [[nodiscard]] virtual std::string decode(std::span<const TokenId> ids) const = 0;
  [[nodiscard]] virtual std::size_t vocabulary_size() const noexcept = 0;
  /// The vocabulary's string for `id` ("##ing"), empty where there is none.
  [[nodiscard]] virtual std::string_view piece(TokenId id) const noexcept = 0;
  [[nodiscard]] virtual bool is_special(TokenId id) const noexcept = 0;
  /// Tokens put before and after a text for the encoder, for instance {[CLS]} and {[SEP]}.
  [[nodiscard]] virtual std::span<const TokenId> prefix() const noexcept = 0;
  [[nodiscard]] virtual std::span<const TokenId> suffix() const noexcept = 0;
  /// Tokens between the two texts of a pair ({[SEP]} for BERT, {</s>,</s>} for RoBERTa).
  [[nodiscard]] virtual std::span<const TokenId> pair_separator() const noexcept = 0;
  /// -1 where the vocabulary has none.
  [[nodiscard]] virtual TokenId mask_id() const noexcept = 0;
  [[nodiscard]] virtual TokenId unknown_id() const noexcept = 0;
  [[nodiscard]] virtual TokenId padding_id() const noexcept = 0;
};

}  // namespace casemate
