// src/text/comparison_words.h
#pragma once

#include <string>
#include <string_view>

namespace casemate {

/// One word in the form in which words are compared (comparison_text of it).
[[nodiscard]] std::string folded_word(std::string_view word);

/// NFKC without case folding: words are cut in it where their case still matters.
[[nodiscard]] std::string compatible_text(std::string_view text);

}  // namespace casemate
