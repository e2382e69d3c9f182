#include "text/token_features.h"

#include <unicode/uchar.h>

#include <charconv>

#include "casemate/core/utf8.h"
#include "text/character_kinds.h"
#include "text/lexeme_hash.h"

namespace casemate {
namespace {

char32_t shape_of(char32_t c) {
  if (is_letter(c)) return u_isUUppercase(static_cast<UChar32>(c)) != 0 ? 'X' : 'x';
  if (c < 0x80) return c >= '0' && c <= '9' ? 'd' : c;
  const int numeric = u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_NUMERIC_TYPE);
  return numeric == U_NT_DECIMAL || numeric == U_NT_DIGIT ? 'd' : c;
}

/// Byte at which the last `count` characters of valid UTF-8 begin.
std::size_t tail_begin(std::string_view text, int count) {
  std::size_t at = text.size();
  for (; at > 0 && count > 0; --count) {
    --at;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) --at;
  }
  return at;
}

}  // namespace

std::string word_shape(std::string_view word) {
  constexpr std::size_t kLong = 100;
  constexpr int kLongestRun = 4;
  std::string shape;
  std::size_t characters = 0;
  char32_t last = 0;
  int run = 0;
  for (std::size_t at = 0; at < word.size(); ++characters) {
    if (characters + 1 >= kLong) return "LONG";
    const CodePoint next = read_code_point(word, at);
    const char32_t c = shape_of(next.value);
    run = characters > 0 && c == last ? run + 1 : 1;
    last = c;
    if (run <= kLongestRun) append_code_point(shape, c);
    at += next.length;
  }
  return shape;
}

Result<TokenFeatureMaker> TokenFeatureMaker::create(const TaggerFile& file) {
  TokenFeatureMaker maker;
  const auto symbols = file.table("symbols", 2);
  if (!symbols) return symbols.error();
  for (const TaggerRecord& record : *symbols) {
    std::uint64_t number = 0;
    std::from_chars(record[1].data(), record[1].data() + record[1].size(), number);
    maker.symbols_.emplace(record[0], number);
  }
  const auto norms = file.table("norms", 2);
  if (!norms) return norms.error();
  maker.norms_.reserve(norms->size());
  for (const TaggerRecord& record : *norms) {
    std::uint64_t key = 0;
    std::from_chars(record[0].data(), record[0].data() + record[0].size(), key, 16);
    maker.norms_.emplace(key, record[1]);
  }
  return maker;
}

std::uint64_t TokenFeatureMaker::id(std::string_view text) const {
  if (text.empty()) return 0;
  const auto symbol = symbols_.find(text);
  return symbol != symbols_.end() ? symbol->second : murmur_hash_64a(text);
}

std::uint64_t TokenFeatureMaker::norm_id(std::string_view word, std::string_view norm) const {
  if (!norm.empty()) return id(norm);
  const auto known = norms_.find(id(word));
  return id(known != norms_.end() ? std::string(known->second) : lower_text(word));
}

std::vector<TokenFeatures> TokenFeatureMaker::features(std::string_view text,
                                                       std::span<const EnglishToken> tokens) const {
  std::vector<TokenFeatures> out;
  out.reserve(tokens.size());
  for (const EnglishToken& token : tokens) {
    const std::string word = to_valid_utf8(text.substr(token.span.begin, token.span.size()));
    out.push_back({norm_id(word, token.norm), id(std::string_view(word).substr(0, read_code_point(word, 0).length)),
                   id(std::string_view(word).substr(tail_begin(word, 3))), id(word_shape(word)),
                   token.space_after ? 1U : 0U, token.is_space ? 1U : 0U});
  }
  return out;
}

}  // namespace casemate
