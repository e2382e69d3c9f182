// src/text/lower_words.h
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace casemate {

/// Unicode lower case without a locale's rules; invalid UTF-8 becomes U+FFFD.
[[nodiscard]] std::string lower_case(std::string_view text);

/// Pieces between runs of Unicode white space (White_Space and the separators U+001C to U+001F, as Python's split).
[[nodiscard]] std::vector<std::string> split_white_space(std::string_view text);

}  // namespace casemate
