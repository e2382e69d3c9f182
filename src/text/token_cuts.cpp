#include "text/token_cuts.h"

#include <algorithm>

namespace casemate {

bool is_cut(std::string_view text, std::span<const TokenSpan> tokens, std::size_t index) {
  const std::size_t at = tokens[index].begin;
  if (at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) return false;
  return index == 0 || tokens[index - 1].begin < at;
}

bool starts_word(std::string_view text, std::span<const TokenSpan> tokens, std::size_t index) {
  if (!is_cut(text, tokens, index)) return false;
  const std::size_t at = tokens[index].begin;
  const auto blank = [&](std::size_t i) { return text[i] == ' ' || text[i] == '\n' || text[i] == '\t'; };
  // Some tokenizers count the blank before a word as part of it.
  return at == 0 || blank(at - 1) || blank(at);
}

std::size_t cut_before(std::string_view text, std::span<const TokenSpan> tokens, std::size_t begin, std::size_t wanted,
                       std::size_t search) {
  wanted = std::min(wanted, tokens.size() - 1);
  for (std::size_t i = wanted; i > begin && wanted - i <= search; --i) {
    if (starts_word(text, tokens, i)) return i;
  }
  for (std::size_t i = wanted; i > begin; --i) {
    if (is_cut(text, tokens, i)) return i;
  }
  for (std::size_t i = wanted + 1; i < tokens.size(); ++i) {
    if (is_cut(text, tokens, i)) return i;
  }
  return tokens.size();
}

std::size_t word_start_from(std::string_view text, std::span<const TokenSpan> tokens, std::size_t wanted,
                            std::size_t end) {
  for (std::size_t i = wanted; i < end; ++i) {
    if (starts_word(text, tokens, i)) return i;
  }
  for (std::size_t i = wanted; i < end; ++i) {
    if (is_cut(text, tokens, i)) return i;
  }
  return end;
}

}  // namespace casemate
