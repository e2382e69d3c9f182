// casemate/text/shingles.h
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace casemate {

/// The form in which texts are compared for being copies: Unicode NFKC with case folding (invisible characters go),
/// runs of white space as one blank, none at the ends. Invalid UTF-8 reads as U+FFFD. Linear.
[[nodiscard]] std::string comparison_text(std::string_view text);

/// Words of a text in that form: runs of letters, marks and digits; each ideograph, kana or letter of a script without
/// blanks by itself. Apostrophes inside words, points and commas inside numbers and a minus before one belong to them.
[[nodiscard]] std::vector<std::string> comparison_words(std::string_view comparison_text);

/// A secret under which shingles are hashed. Who does not have it cannot make texts whose sketches collide.
using ShingleKey = std::array<std::uint8_t, 16>;

/// Hashes of a text's shingles: ascending, each once.
using ShingleSet = std::vector<std::uint64_t>;

/// Words in a shingle. One different word in the middle of a text changes that many shingles.
inline constexpr std::size_t kShingleWords = 5;

/// SipHash-2-4 of each run of kShingleWords words; a shorter text is one shingle; no words: none.
[[nodiscard]] ShingleSet shingles(std::span<const std::string> words, const ShingleKey& key);

/// How much two sets share; 0 where either is empty.
struct ShingleOverlap {
  double jaccard = 0;    ///< |A and B| / |A or B|
  double contained = 0;  ///< |A and B| / |A|: how much of the first stands in the second
};
[[nodiscard]] ShingleOverlap shingle_overlap(const ShingleSet& a, const ShingleSet& b);

/// A MinHash sketch (Broder 1997). The share of equal values estimates the Jaccard similarity J without bias, with a
/// standard error of sqrt(J (1 - J) / 64), at most 0.0625.
inline constexpr std::size_t kSketchValues = 64;
using Sketch = std::array<std::uint32_t, kSketchValues>;

/// All values are the greatest for an empty set.
[[nodiscard]] Sketch min_hash(const ShingleSet& set, const ShingleKey& key);
[[nodiscard]] double estimated_jaccard(const Sketch& a, const Sketch& b);

}  // namespace casemate
