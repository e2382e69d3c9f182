// casemate/text/stop_words.h
#pragma once

#include <string_view>

namespace casemate {

/// True for NLTK's 179 English stop words. Case-sensitive: the words are lower case.
[[nodiscard]] bool is_stop_word(std::string_view word) noexcept;

}  // namespace casemate
