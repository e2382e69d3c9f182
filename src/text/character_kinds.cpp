#include "text/character_kinds.h"

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/uchar.h>

#include <algorithm>

#include "casemate/core/utf8.h"

namespace casemate {

bool is_white_space(char32_t value) noexcept {
  if (value < 0x80) return (value >= 0x09 && value <= 0x0D) || (value >= 0x1C && value <= 0x20);
  return value == 0x85 || (value < kInvalidCodePoint && u_isUWhiteSpace(static_cast<UChar32>(value)) != 0);
}

bool is_letter(char32_t value) noexcept {
  if (value < 0x80) return (value >= 'a' && value <= 'z') || (value >= 'A' && value <= 'Z');
  return value < kInvalidCodePoint && u_isalpha(static_cast<UChar32>(value)) != 0;
}

std::string lower_text(std::string_view text) {
  const bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) {
    std::string out(text);
    for (char& c : out) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return out;
  }
  const std::string valid = to_valid_utf8(text);
  std::string out;
  icu::StringByteSink<std::string> sink(&out, static_cast<std::int32_t>(valid.size()));
  UErrorCode error = U_ZERO_ERROR;
  icu::CaseMap::utf8ToLower("", 0, icu::StringPiece(valid.data(), static_cast<std::int32_t>(valid.size())), sink,
                            nullptr, error);
  return U_FAILURE(error) ? valid : out;
}

}  // namespace casemate
