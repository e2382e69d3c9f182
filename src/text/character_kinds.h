#pragma once

#include <string>
#include <string_view>

namespace casemate {

/// White space as Python's str.isspace has it, which the tagger's tokens rest on.
[[nodiscard]] bool is_white_space(char32_t value) noexcept;
/// A letter (general category L).
[[nodiscard]] bool is_letter(char32_t value) noexcept;
/// `text` in lower case by Unicode's rules, without a language; broken UTF-8 becomes U+FFFD.
[[nodiscard]] std::string lower_text(std::string_view text);

}  // namespace casemate
