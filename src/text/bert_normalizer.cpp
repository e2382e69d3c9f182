#include "text/bert_normalizer.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>

#include <algorithm>
#include <array>

#include "casemate/core/utf8.h"

namespace casemate {
namespace {

bool is_chinese(char32_t c) {
  // The ranges of the original BERT code, its gap at U+2B820 included.
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

bool is_removed(char32_t c) {
  if (c == 0 || c == 0xFFFD) return true;
  if (c == '\t' || c == '\n' || c == '\r') return false;
  switch (u_charType(static_cast<UChar32>(c))) {
    case U_CONTROL_CHAR:
    case U_FORMAT_CHAR:
    case U_PRIVATE_USE_CHAR:
    case U_SURROGATE:
      return true;
    default:
      return false;
  }
}

const UNormalizer2* nfd() {
  UErrorCode error = U_ZERO_ERROR;
  const UNormalizer2* normalizer = unorm2_getNFDInstance(&error);
  return U_SUCCESS(error) ? normalizer : nullptr;
}

void decompose(const UNormalizer2* normalizer, const NormalizedCharacter& character,
               std::vector<NormalizedCharacter>& out) {
  std::array<UChar, 32> buffer{};
  UErrorCode error = U_ZERO_ERROR;
  const int32_t length = normalizer == nullptr
                             ? -1
                             : unorm2_getDecomposition(normalizer, static_cast<UChar32>(character.value), buffer.data(),
                                                       static_cast<int32_t>(buffer.size()), &error);
  if (length < 0 || U_FAILURE(error)) {
    out.push_back(character);
    return;
  }
  for (int32_t i = 0; i < length;) {
    UChar32 value = 0;
    U16_NEXT(buffer.data(), i, length, value);
    out.push_back({static_cast<char32_t>(value), character.span});
  }
}

// Canonical order: runs of combining characters are sorted by combining class, equal ones stay in order.
void order_marks(std::vector<NormalizedCharacter>& characters) {
  const auto mark_class = [](const NormalizedCharacter& c) {
    return u_getCombiningClass(static_cast<UChar32>(c.value));
  };
  for (std::size_t i = 0; i < characters.size();) {
    if (mark_class(characters[i]) == 0) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < characters.size() && mark_class(characters[end]) != 0) ++end;
    std::stable_sort(characters.begin() + static_cast<std::ptrdiff_t>(i),
                     characters.begin() + static_cast<std::ptrdiff_t>(end),
                     [&](const auto& a, const auto& b) { return mark_class(a) < mark_class(b); });
    i = end;
  }
}

void strip_accents(std::vector<NormalizedCharacter>& characters) {
  const UNormalizer2* normalizer = nfd();
  std::vector<NormalizedCharacter> out;
  out.reserve(characters.size());
  for (const NormalizedCharacter& character : characters) {
    if (character.value < 0x80) {
      out.push_back(character);
    } else {
      decompose(normalizer, character, out);
    }
  }
  order_marks(out);
  std::erase_if(out, [](const NormalizedCharacter& c) {
    return c.value >= 0x80 && u_charType(static_cast<UChar32>(c.value)) == U_NON_SPACING_MARK;
  });
  characters = std::move(out);
}

void lowercase(std::vector<NormalizedCharacter>& characters) {
  std::vector<NormalizedCharacter> out;
  out.reserve(characters.size());
  for (const NormalizedCharacter& character : characters) {
    // U+0130 is the only character whose full lower case is two characters.
    if (character.value == 0x130) {
      out.push_back({U'i', character.span});
      out.push_back({0x307, character.span});
    } else {
      out.push_back({static_cast<char32_t>(u_tolower(static_cast<UChar32>(character.value))), character.span});
    }
  }
  characters = std::move(out);
}

}  // namespace

bool is_bert_space(char32_t value) noexcept { return u_isUWhiteSpace(static_cast<UChar32>(value)) != 0; }

bool is_bert_punctuation(char32_t c) noexcept {
  if (c < 0x80) return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  return u_ispunct(static_cast<UChar32>(c)) != 0;
}

std::vector<NormalizedCharacter> bert_normalize(std::string_view text, std::size_t offset,
                                                const WordPieceOptions& options) {
  std::vector<NormalizedCharacter> characters;
  characters.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = read_code_point(text, at);
    const TokenSpan span{offset + at, offset + at + point.length};
    at += point.length;
    char32_t value = point.value == kInvalidCodePoint ? 0xFFFD : point.value;
    if (options.clean_text) {
      if (is_removed(value)) continue;
      if (is_bert_space(value)) value = U' ';
    }
    const bool padded = options.split_chinese && is_chinese(value);
    if (padded) characters.push_back({U' ', span});
    characters.push_back({value, span});
    if (padded) characters.push_back({U' ', span});
  }
  if (options.strip_accents) strip_accents(characters);
  if (options.lowercase) lowercase(characters);
  return characters;
}

}  // namespace casemate
