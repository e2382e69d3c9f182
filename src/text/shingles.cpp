#include "casemate/text/shingles.h"

#include <sodium.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>

#include <algorithm>
#include <limits>

#include "casemate/core/utf8.h"
#include "text/comparison_words.h"
#include "text/lower_words.h"

namespace casemate {
namespace {

std::string normalised(std::string_view text, const icu::Normalizer2* normalizer) {
  const std::string valid = is_valid_utf8(text) ? std::string() : to_valid_utf8(text);
  if (!valid.empty()) text = valid;
  std::string out;
  UErrorCode error = U_ZERO_ERROR;
  icu::StringByteSink<std::string> sink(&out, static_cast<std::int32_t>(text.size()));
  normalizer->normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())), sink, nullptr,
                            error);
  // Only running out of memory fails here; the text as it is still compares equal to itself.
  return U_FAILURE(error) ? std::string(text) : out;
}

const icu::Normalizer2* folding() {
  UErrorCode error = U_ZERO_ERROR;
  return icu::Normalizer2::getNFKCCasefoldInstance(error);
}

std::uint64_t mixed(std::uint64_t x) {  // splitmix64's finaliser
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

std::uint64_t keyed_hash(std::string_view text, const ShingleKey& key) {
  static_assert(crypto_shorthash_BYTES == 8 && crypto_shorthash_KEYBYTES == sizeof(ShingleKey));
  std::array<unsigned char, 8> bytes{};
  crypto_shorthash(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size(), key.data());
  std::uint64_t out = 0;
  for (const unsigned char byte : bytes) out = (out << 8U) | byte;
  return out;
}

}  // namespace

std::string folded_word(std::string_view word) { return normalised(word, folding()); }

std::string compatible_text(std::string_view text) {
  UErrorCode error = U_ZERO_ERROR;
  return normalised(text, icu::Normalizer2::getNFKCInstance(error));
}

std::string comparison_text(std::string_view text) {
  const std::string folded = normalised(text, folding());
  std::string out;
  out.reserve(folded.size());
  for (const std::string& piece : split_white_space(folded)) {
    if (!out.empty()) out += ' ';
    out += piece;
  }
  return out;
}

ShingleSet shingles(std::span<const std::string> words, const ShingleKey& key) {
  ShingleSet set;
  if (words.empty()) return set;
  const std::size_t width = std::min(words.size(), kShingleWords);
  set.reserve(words.size() - width + 1);
  std::string joined;
  for (std::size_t first = 0; first + width <= words.size(); ++first) {
    joined.clear();
    for (const std::string& word : words.subspan(first, width)) {
      joined += word;
      joined += ' ';  // words have no blanks, so no other words join to the same text
    }
    set.push_back(keyed_hash(joined, key));
  }
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  return set;
}

ShingleOverlap shingle_overlap(const ShingleSet& a, const ShingleSet& b) {
  if (a.empty() || b.empty()) return {};
  std::size_t common = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) ++common;
    const std::uint64_t x = a[i];
    const std::uint64_t y = b[j];
    if (x <= y) ++i;
    if (y <= x) ++j;
  }
  const auto both = static_cast<double>(common);
  return {both / static_cast<double>(a.size() + b.size() - common), both / static_cast<double>(a.size())};
}

Sketch min_hash(const ShingleSet& set, const ShingleKey& key) {
  Sketch sketch{};
  sketch.fill(std::numeric_limits<std::uint32_t>::max());
  std::array<std::uint64_t, kSketchValues> salts{};
  for (std::size_t i = 0; i < kSketchValues; ++i) salts[i] = keyed_hash("slot " + std::to_string(i), key);
  for (const std::uint64_t shingle : set) {
    for (std::size_t i = 0; i < kSketchValues; ++i)
      sketch[i] = std::min(sketch[i], static_cast<std::uint32_t>(mixed(shingle ^ salts[i]) >> 32U));
  }
  return sketch;
}

double estimated_jaccard(const Sketch& a, const Sketch& b) {
  std::size_t equal = 0;
  for (std::size_t i = 0; i < kSketchValues; ++i) equal += a[i] == b[i] ? 1 : 0;
  return static_cast<double>(equal) / static_cast<double>(kSketchValues);
}

}  // namespace casemate
