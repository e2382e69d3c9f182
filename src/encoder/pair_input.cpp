#include "encoder/pair_input.h"

namespace casemate {

std::size_t pair_framing(const Tokenizer& tokenizer) {
  return tokenizer.prefix().size() + tokenizer.pair_separator().size() + tokenizer.suffix().size();
}

PairInput make_pair_input(const Tokenizer& tokenizer, const Tokens& first, const Tokens& second, std::size_t from,
                          std::size_t count, int token_types) {
  PairInput input;
  const auto append = [&](std::span<const TokenId> ids) { input.ids.insert(input.ids.end(), ids.begin(), ids.end()); };
  append(tokenizer.prefix());
  append(first.ids);
  append(tokenizer.pair_separator());
  input.second_begin = input.ids.size();
  input.second_tokens = count;
  append(std::span<const TokenId>(second.ids).subspan(from, count));
  append(tokenizer.suffix());
  if (token_types > 1) {
    input.types.assign(input.second_begin, 0);
    input.types.resize(input.ids.size(), 1);
  }
  return input;
}

}  // namespace casemate
