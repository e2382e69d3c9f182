#include "casemate/sanitize/facts.h"

#include <gtest/gtest.h>

namespace casemate {
namespace {

const std::vector<std::string> kSource = {
    "The river port was founded in 1204. Each segment is equipped with a specialized cryogenic actuator manufactured "
    "by Ball Aerospace, allowing for nanometer-scale adjustments.",
    "Bread rises faster in a warm kitchen than in a cold one, and bakers have always known this to be true."};
const std::vector<std::string> kKeyword = {"Ball Aerospace"};

std::vector<FactRecord> bounded(std::string_view written, const FactBounds& bounds = {},
                                const RewriteFact& rewrite = {}, std::vector<std::string> keywords = kKeyword) {
  auto made = bound_facts(written, keywords, kSource, bounds, rewrite);
  EXPECT_TRUE(made.ok());
  return *std::move(made);
}

TEST(FactsTest, ASentenceOfItsOwnWordsWithAKeywordIsKept) {
  const auto facts = bounded("- \"Ball Aerospace made the actuators.\"");
  ASSERT_EQ(facts.size(), 1U);
  EXPECT_EQ(facts[0].fate, FactFate::kKept);
  EXPECT_EQ(facts[0].text.bytes(), "Ball Aerospace made the actuators.");
  EXPECT_EQ(facts[0].passage, 0U);
}

TEST(FactsTest, ASentenceWithoutAKeywordIsDropped) {
  const auto facts = bounded("Bread likes it warm. BALL AEROSPACE makes actuators.");
  ASSERT_EQ(facts.size(), 2U);
  EXPECT_EQ(facts[0].fate, FactFate::kNoKeyword);
  EXPECT_EQ(facts[0].passage, 1U);
  EXPECT_EQ(facts[1].fate, FactFate::kKept);
}

TEST(FactsTest, ACopiedRunIsCutToThePieceAroundTheKeyword) {
  const auto facts =
      bounded("Each segment is equipped with a specialized cryogenic actuator manufactured by Ball Aerospace.");
  ASSERT_EQ(facts.size(), 1U);
  EXPECT_EQ(facts[0].fate, FactFate::kCut);
  EXPECT_EQ(facts[0].text.bytes(), "a specialized cryogenic actuator manufactured by Ball Aerospace");
  EXPECT_EQ(longest_shared_run(facts[0].text.bytes(), kSource), 8U);
}

TEST(FactsTest, ARunIsSeenThroughCaseAndPunctuation) {
  EXPECT_EQ(longest_shared_run("SPECIALIZED, cryogenic -- actuator; 'manufactured'", kSource), 4U);
  EXPECT_EQ(longest_shared_run("true bread", kSource), 1U);  // a run does not go from one passage into the next
  EXPECT_EQ(longest_shared_run("", kSource), 0U);
  EXPECT_EQ(longest_shared_run("anything", {}), 0U);
}

TEST(FactsTest, ACopiedRunIsRewrittenOnceBeforeItIsCut) {
  int asked = 0;
  const RewriteFact rewrite = [&](const UntrustedText&) -> Result<UntrustedText> {
    ++asked;
    return UntrustedText("Actuators come from Ball Aerospace.");
  };
  const std::string copied =
      "Each segment is equipped with a specialized cryogenic actuator manufactured by Ball Aerospace.";
  const auto facts = bounded(copied, {}, rewrite);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(facts[0].fate, FactFate::kRewritten);
  EXPECT_EQ(facts[0].text.bytes(), "Actuators come from Ball Aerospace.");
  // A rewriting that copies still is cut, and not asked for again.
  const RewriteFact copying = [&](const UntrustedText& fact) -> Result<UntrustedText> {
    ++asked;
    return fact;
  };
  const auto cut = bounded(copied, {}, copying);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(cut[0].fate, FactFate::kCut);
  const RewriteFact failing = [](const UntrustedText&) -> Result<UntrustedText> {
    return Error{ErrorCode::kModel, "out of order"};
  };
  EXPECT_EQ(bound_facts(copied, kKeyword, kSource, {}, failing).error().code, ErrorCode::kModel);
}

TEST(FactsTest, TheLengthBoundHoldsOverAllFacts) {
  FactBounds bounds;
  bounds.max_characters = 40;
  const auto facts = bounded("Ball Aerospace is a maker. Ball Aerospace has plants. Ball Aerospace is known.", bounds);
  ASSERT_EQ(facts.size(), 3U);
  EXPECT_EQ(facts[0].fate, FactFate::kKept);
  EXPECT_EQ(facts[1].fate, FactFate::kTooLong);
  EXPECT_EQ(facts[2].fate, FactFate::kTooLong);
  // A first sentence that is too long by itself is cut at a word, with its keyword or not at all.
  bounds.max_characters = 20;
  const auto cut = bounded("Ball Aerospace is a maker of actuators.", bounds);
  EXPECT_EQ(cut[0].fate, FactFate::kCut);
  EXPECT_EQ(cut[0].text.bytes(), "Ball Aerospace is a");
  EXPECT_EQ(bounded("Makers of many actuators: Ball Aerospace.", bounds)[0].fate, FactFate::kTooLong);
}

TEST(FactsTest, TheShareOfTheContextBoundsToo) {
  const std::vector<std::string> tiny = {"Ball Aerospace did it."};  // 22 characters, 30 % are 6
  const auto facts = bound_facts("Ball Aerospace was the one.", kKeyword, tiny, {}, {});
  ASSERT_TRUE(facts.ok());
  EXPECT_FALSE((*facts)[0].goes_on() && (*facts)[0].text.size() > 6);
}

TEST(FactsTest, CopiedPiecesThatFollowEachOtherAreNoLongerRunTogether) {
  // Seven and six words that stand in a row in the passage: each is short enough, both together are not.
  const FactBounds bounds{1000, 1.0, 8};
  const auto facts =
      bounded("Each segment is equipped with a specialized. Cryogenic actuator manufactured by Ball Aerospace.", bounds,
              {}, {"segment", "Ball Aerospace"});
  ASSERT_EQ(facts.size(), 2U);
  EXPECT_EQ(facts[0].fate, FactFate::kKept);
  EXPECT_EQ(facts[1].fate, FactFate::kTooLong);
  EXPECT_LE(longest_shared_run(facts[0].text.bytes(), kSource), 8U);
}

TEST(FactsTest, ARepeatedSentenceIsDropped) {
  const auto facts = bounded("Ball Aerospace made it. BALL AEROSPACE made it!");
  ASSERT_EQ(facts.size(), 2U);
  EXPECT_EQ(facts[1].fate, FactFate::kRepeated);
}

TEST(FactsTest, AFloodOfCopiedSentencesAsksFewTimesAndDisclosesNoMore) {
  int asked = 0;
  const RewriteFact rewrite = [&](const UntrustedText& fact) -> Result<UntrustedText> {
    ++asked;
    return fact;
  };
  std::string flood;
  for (int i = 0; i < 1000; ++i) flood += kSource[0] + " ";
  const auto facts = bounded(flood, {}, rewrite);
  EXPECT_LE(asked, 3);
  EXPECT_LE(facts.size(), 64U);
  std::size_t length = 0;
  for (const FactRecord& fact : facts) length += fact.goes_on() ? fact.text.size() : 0;
  EXPECT_LE(length, 200U);
}

TEST(FactsTest, HostileBytesDoNotPass) {
  EXPECT_TRUE(bounded("").empty());
  EXPECT_TRUE(bounded(" \n\n -- \n").empty());
  const auto facts = bounded("Ball Aerospace \xff\xfe made\x1b[31m it.");
  ASSERT_EQ(facts.size(), 1U);
  EXPECT_EQ(facts[0].text.bytes().find('\x1b'), std::string::npos);
  EXPECT_EQ(facts[0].text.bytes().find('\xff'), std::string::npos);
  EXPECT_TRUE(bound_facts("x", {}, {}, {}, {}).ok());
  FactBounds wrong;
  wrong.max_share = 0;
  EXPECT_EQ(bound_facts("x", {}, {}, wrong, {}).error().code, ErrorCode::kInvalidOption);
}

}  // namespace
}  // namespace casemate
