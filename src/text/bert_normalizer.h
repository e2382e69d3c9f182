// src/text/bert_normalizer.h
#pragma once

#include <string_view>
#include <vector>

#include "casemate/text/tokenizer.h"
#include "casemate/text/wordpiece_tokenizer.h"

namespace casemate {

/// One character after normalisation and the bytes it came from.
struct NormalizedCharacter {
  char32_t value = 0;
  TokenSpan span;
};

/// Hugging Face's BertNormalizer over `text`; spans are shifted by `offset`.
[[nodiscard]] std::vector<NormalizedCharacter> bert_normalize(std::string_view text, std::size_t offset,
                                                              const WordPieceOptions& options);
/// BertPreTokenizer's white space (Unicode White_Space).
[[nodiscard]] bool is_bert_space(char32_t value) noexcept;
/// BertPreTokenizer's punctuation: ASCII punctuation and Unicode category P.
[[nodiscard]] bool is_bert_punctuation(char32_t value) noexcept;

}  // namespace casemate
