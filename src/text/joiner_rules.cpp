#include "text/joiner_rules.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <array>

namespace casemate {
namespace {

bool has(char32_t value, UProperty property) { return u_hasBinaryProperty(static_cast<UChar32>(value), property) != 0; }

bool is_selector(char32_t value) {
  return (value >= 0xFE00 && value <= 0xFE0F) || (value >= 0xE0100 && value <= 0xE01EF);
}

UScriptCode script_of(char32_t value) {
  UErrorCode error = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(static_cast<UChar32>(value), &error);
  return U_SUCCESS(error) != 0 ? script : USCRIPT_UNKNOWN;
}

bool is_letter_or_mark(char32_t value) {
  return (U_GET_GC_MASK(static_cast<UChar32>(value)) & (U_GC_L_MASK | U_GC_M_MASK)) != 0;
}

/// Scripts whose shaping uses the joiners.
bool uses_joiners(char32_t value) {
  static constexpr std::array<UScriptCode, 20> kScripts = {
      USCRIPT_ARABIC,     USCRIPT_SYRIAC,  USCRIPT_NKO,      USCRIPT_MANDAIC,   USCRIPT_MONGOLIAN,
      USCRIPT_DEVANAGARI, USCRIPT_BENGALI, USCRIPT_GURMUKHI, USCRIPT_GUJARATI,  USCRIPT_ORIYA,
      USCRIPT_TAMIL,      USCRIPT_TELUGU,  USCRIPT_KANNADA,  USCRIPT_MALAYALAM, USCRIPT_SINHALA,
      USCRIPT_KHMER,      USCRIPT_MYANMAR, USCRIPT_TIBETAN,  USCRIPT_BALINESE,  USCRIPT_JAVANESE};
  if (!is_letter_or_mark(value)) return false;
  const UScriptCode script = script_of(value);
  return std::find(kScripts.begin(), kScripts.end(), script) != kScripts.end();
}

bool is_jamo(char32_t value) { return value >= 0x1100 && value <= 0x11FF; }

/// The flags of England, Scotland and Wales as tag characters, after U+1F3F4: "gbeng", "gbsct", "gbwls" and the end
/// tag.
std::size_t subdivision_flag(std::string_view bytes, std::size_t at) {
  for (const std::string_view name : {"gbeng\x7F", "gbsct\x7F", "gbwls\x7F"}) {
    std::size_t end = at;
    bool same = true;
    for (const char letter : name) {
      if (end >= bytes.size()) return 0;
      const CodePoint point = read_code_point(bytes, end);
      same = same && point.value == 0xE0000U + static_cast<unsigned char>(letter);
      end += point.length;
    }
    if (same) return end - at;
  }
  return 0;
}

}  // namespace

CodePoint JoinerRules::next(std::size_t at) const {
  return at < bytes_.size() ? read_code_point(bytes_, at) : CodePoint{0, 0};
}

std::size_t JoinerRules::keeps(CodePoint point, std::size_t at) const {
  const char32_t value = point.value;
  if (is_control(value)) return value == '\n' || value == '\t' ? point.length : 0;
  if (!is_invisible(value)) return point.length;
  const char32_t after = next(at + point.length).value;
  bool keep = false;
  if (value == 0x200C || value == 0x200D) {
    keep = uses_joiners(last_);
    if (value == 0x200D && !keep)
      keep = has(base_, UCHAR_EXTENDED_PICTOGRAPHIC) && has(after, UCHAR_EXTENDED_PICTOGRAPHIC) && last_ != 0x200D;
  } else if (value == 0xFE0E || value == 0xFE0F) {
    const bool keycap = (last_ >= '0' && last_ <= '9') || last_ == '#' || last_ == '*';
    keep = keycap ? after == 0x20E3 : has(last_, UCHAR_EMOJI);
  } else if ((value >= 0xFE00 && value <= 0xFE02) || (value >= 0xE0100 && value <= 0xE01EF)) {
    keep = has(last_, UCHAR_IDEOGRAPHIC);
  } else if (value >= 0x180B && value <= 0x180F) {
    keep = is_letter_or_mark(last_) && !is_invisible(last_) && script_of(last_) == USCRIPT_MONGOLIAN;
  } else if (value == 0x115F || value == 0x1160) {
    keep = (is_jamo(last_) && last_ != value) || (is_jamo(after) && after != value);
  } else if (value >= 0xE0061 && value <= 0xE007A && last_ == 0x1F3F4) {
    return subdivision_flag(bytes_, at);
  }
  return keep ? point.length : 0;
}

void JoinerRules::kept(char32_t value) noexcept {
  last_ = value;
  if (!is_selector(value) && !(value >= 0x1F3FB && value <= 0x1F3FF)) base_ = value;
}

}  // namespace casemate
