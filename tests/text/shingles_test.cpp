#include "casemate/text/shingles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "casemate/core/random.h"

namespace casemate {
namespace {

using Words = std::vector<std::string>;

ShingleKey key(std::uint8_t first = 1) {
  ShingleKey out{};
  out[0] = first;
  return out;
}

Words words_of(std::string_view text) { return comparison_words(comparison_text(text)); }
ShingleSet set_of(std::string_view text, const ShingleKey& k = key()) { return shingles(words_of(text), k); }

std::string numbered(int first, int count) {
  std::string out;
  for (int i = first; i < first + count; ++i) out += "w" + std::to_string(i) + " ";
  return out;
}

TEST(ComparisonText, DoesNotSeeCaseWhiteSpaceCompatibilityFormsAndInvisibleCharacters) {
  EXPECT_EQ(comparison_text("  The\tOLD \n pier\u00A0"), "the old pier");
  EXPECT_EQ(comparison_text("\uFF26\uFF29le \uFB01sh"), "file fish");  // full-width letters, a ligature
  EXPECT_EQ(comparison_text("pi\u200Ber\u00AD"), "pier");
  EXPECT_EQ(comparison_text("Stra\u00DFe"), comparison_text("STRASSE"));
  EXPECT_EQ(comparison_text("cafe\u0301"), comparison_text("caf\u00E9"));
  EXPECT_EQ(comparison_text(""), "");
  EXPECT_EQ(comparison_text(" \u200B "), "");
  EXPECT_EQ(comparison_text("a\xFF"), "a\uFFFD");
}

TEST(ComparisonWords, KeepNumbersAndContractionsWhole) {
  EXPECT_EQ(words_of("It isn\u2019t 1,200.5 km, but -5 or \u22127 at 3-4."),
            (Words{"it", "isn't", "1,200.5", "km", "but", "-5", "or", "-7", "at", "3", "4"}));
}

TEST(ComparisonWords, CutScriptsWithoutBlanksLetterByLetter) {
  EXPECT_EQ(words_of("北京2008年"), (Words{"北", "京", "2008", "年"}));
  EXPECT_EQ(words_of("..."), Words{});
}

TEST(Shingles, AreRunsOfFiveWords) {
  EXPECT_EQ(set_of(numbered(0, 20)).size(), 16U);
  EXPECT_EQ(set_of(numbered(0, 5)).size(), 1U);
  EXPECT_EQ(set_of("one").size(), 1U);
  EXPECT_EQ(set_of("").size(), 0U);
  // Ten equal words have six equal runs.
  EXPECT_EQ(set_of("a a a a a a a a a a").size(), 1U);
  // One other word in the middle changes five of them: (16 - 5) / (16 + 5).
  Words changed = words_of(numbered(0, 20));
  changed[10] = "other";
  const ShingleOverlap overlap = shingle_overlap(set_of(numbered(0, 20)), shingles(changed, key()));
  EXPECT_DOUBLE_EQ(overlap.jaccard, 11.0 / 21.0);
  EXPECT_DOUBLE_EQ(overlap.contained, 11.0 / 16.0);
}

TEST(Shingles, OfAPieceAreContainedInThoseOfTheWhole) {
  const ShingleOverlap overlap = shingle_overlap(set_of(numbered(5, 10)), set_of(numbered(0, 40)));
  EXPECT_DOUBLE_EQ(overlap.contained, 1.0);
  EXPECT_DOUBLE_EQ(overlap.jaccard, 6.0 / 36.0);
  EXPECT_EQ(shingle_overlap({}, {}).jaccard, 0.0);
}

TEST(MinHash, EstimatesTheJaccardSimilarityWithinItsError) {
  // 100 pairs of sets whose true similarity is known by construction; the mean error is far below one sketch's.
  for (const int common : {10, 50, 90}) {
    double sum = 0;
    double squares = 0;
    const double truth = common / (200.0 - common);
    for (std::uint64_t trial = 0; trial < 100; ++trial) {
      RandomStream random(trial, "minhash");
      ShingleSet a;
      ShingleSet b;
      for (int i = 0; i < 100; ++i) a.push_back(random.next_u64());
      for (int i = 0; i < 100; ++i) b.push_back(i < common ? a[static_cast<std::size_t>(i)] : random.next_u64());
      const double error = estimated_jaccard(min_hash(a, key()), min_hash(b, key())) - truth;
      sum += error;
      squares += error * error;
    }
    const double expected = std::sqrt(truth * (1 - truth) / kSketchValues);
    EXPECT_LT(std::abs(sum / 100), 4 * expected / 10) << common;
    EXPECT_NEAR(std::sqrt(squares / 100), expected, expected / 2) << common;
  }
}

TEST(MinHash, AnotherKeyGivesAnotherSketchAndOtherShingles) {
  const std::string text = numbered(0, 50);
  EXPECT_EQ(set_of(text), set_of(text));
  std::set<std::uint64_t> all;
  for (const std::uint64_t hash : set_of(text)) all.insert(hash);
  for (const std::uint64_t hash : set_of(text, key(2))) EXPECT_FALSE(all.contains(hash));
  const Sketch a = min_hash(set_of(text), key(1));
  EXPECT_EQ(estimated_jaccard(a, min_hash(set_of(text), key(1))), 1.0);
  EXPECT_LT(estimated_jaccard(a, min_hash(set_of(text, key(2)), key(2))), 0.1);
}

}  // namespace
}  // namespace casemate
