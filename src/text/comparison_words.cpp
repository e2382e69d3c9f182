#include "text/comparison_words.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include "casemate/core/utf8.h"
#include "casemate/text/shingles.h"

namespace casemate {
namespace {

enum class Place { kWord, kDigit, kAlone, kInvisible, kOther };

/// Scripts that are written without blanks: there every letter stands for itself.
bool is_unspaced(UChar32 c) {
  if (c < 0x0E00) return false;
  UErrorCode error = U_ZERO_ERROR;
  switch (uscript_getScript(c, &error)) {
    case USCRIPT_HAN:
    case USCRIPT_HIRAGANA:
    case USCRIPT_KATAKANA:
    case USCRIPT_BOPOMOFO:
    case USCRIPT_THAI:
    case USCRIPT_LAO:
    case USCRIPT_KHMER:
    case USCRIPT_MYANMAR:
      return true;
    default:
      return false;
  }
}

Place place_of(char32_t value) {
  if (value == kInvalidCodePoint) return Place::kOther;
  const auto c = static_cast<UChar32>(value);
  if (is_invisible(value)) return Place::kInvisible;
  if (u_isdigit(c)) return Place::kDigit;
  const bool mark = (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0;
  if (!mark && !u_isalnum(c)) return Place::kOther;
  return is_unspaced(c) && !mark ? Place::kAlone : Place::kWord;
}

bool is_apostrophe(char32_t c) { return c == U'\'' || c == U'\u2019' || c == U'\u02BC'; }
bool is_minus(char32_t c) { return c == U'-' || c == U'\u2212'; }

Place place_at(std::string_view text, std::size_t at) {
  return at < text.size() ? place_of(read_code_point(text, at).value) : Place::kOther;
}

}  // namespace

std::vector<std::string> comparison_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  Place last = Place::kOther;  // of the character before, invisible ones apart
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = read_code_point(text, at);
    const std::size_t after = at + c.length;
    const Place place = place_of(c.value);
    if (place == Place::kInvisible) {
      at = after;
      continue;
    }
    const Place next = place_at(text, after);
    Place now = place;
    if (place == Place::kAlone) {
      end_word();
      word.append(text, at, c.length);
      end_word();
    } else if (place == Place::kWord || place == Place::kDigit) {
      word.append(text, at, c.length);
    } else if (is_apostrophe(c.value) && last == Place::kWord && next == Place::kWord) {
      word += '\'';
      now = Place::kWord;
    } else if ((c.value == U'.' || c.value == U',') && last == Place::kDigit && next == Place::kDigit) {
      word.append(text, at, c.length);
      now = Place::kDigit;
    } else {
      end_word();
      if (is_minus(c.value) && last == Place::kOther && next == Place::kDigit) word = "-";
    }
    last = now;
    at = after;
  }
  end_word();
  return words;
}

}  // namespace casemate
