#include "text/lower_words.h"

#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include "casemate/core/utf8.h"

namespace casemate {

std::string lower_case(std::string_view text) {
  icu::UnicodeString unicode =
      icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())));
  unicode.toLower(icu::Locale::getRoot());
  std::string out;
  unicode.toUTF8String(out);
  return out;
}

std::vector<std::string> split_white_space(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = read_code_point(text, at);
    const auto value = static_cast<UChar32>(c.value);
    if (c.value != kInvalidCodePoint && (u_isUWhiteSpace(value) || (value >= 0x1C && value <= 0x1F))) {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
    } else {
      word.append(text, at, c.length);
    }
    at += c.length;
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

}  // namespace casemate
