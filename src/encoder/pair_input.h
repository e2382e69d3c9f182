// src/encoder/pair_input.h
#pragma once

#include <vector>

#include "casemate/text/tokenizer.h"

namespace casemate {

/// Two texts as one input: prefix, first, separator, second, suffix.
struct PairInput {
  std::vector<TokenId> ids;
  std::vector<TokenId> types;    ///< 0 up to the separator, then 1; empty where the model has a single type
  std::size_t second_begin = 0;  ///< place of the second text's first token
  std::size_t second_tokens = 0;
};

/// Tokens [from, from + count) of `second` after all of `first`.
[[nodiscard]] PairInput make_pair_input(const Tokenizer& tokenizer, const Tokens& first, const Tokens& second,
                                        std::size_t from, std::size_t count, int token_types);
/// Tokens that framing and separator take.
[[nodiscard]] std::size_t pair_framing(const Tokenizer& tokenizer);

}  // namespace casemate
