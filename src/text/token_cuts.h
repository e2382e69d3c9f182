// text/token_cuts.h
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "casemate/text/tokenizer.h"

namespace casemate {

/// True where a text may be cut before token `index`: not inside a UTF-8 character, and not between two tokens of one
/// character.
[[nodiscard]] bool is_cut(std::string_view text, std::span<const TokenSpan> tokens, std::size_t index);
/// True where blanks lie before token `index`.
[[nodiscard]] bool starts_word(std::string_view text, std::span<const TokenSpan> tokens, std::size_t index);
/// The last place to cut in (begin, wanted]: before a word if one starts at most `search` tokens earlier, else between
/// any tokens; where there is none, the first one after `wanted` (tokens.size() at the end).
[[nodiscard]] std::size_t cut_before(std::string_view text, std::span<const TokenSpan> tokens, std::size_t begin,
                                     std::size_t wanted, std::size_t search);
/// The first token in [wanted, end) that starts a word; else the first before which the text may be cut; else `end`.
[[nodiscard]] std::size_t word_start_from(std::string_view text, std::span<const TokenSpan> tokens, std::size_t wanted,
                                          std::size_t end);

}  // namespace casemate
