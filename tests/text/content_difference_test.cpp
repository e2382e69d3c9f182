#include "casemate/text/content_difference.h"

#include <gtest/gtest.h>

namespace casemate {
namespace {

std::string told(std::string_view original, std::string_view copy, bool part = false) {
  return describe(content_differences(original, copy, part));
}

TEST(ContentDifference, NumbersNegationsAndNamesAreToldByKind) {
  EXPECT_EQ(told("The pier opened in 1912.", "The pier opened in 1921."), "number 1912 -> 1921");
  EXPECT_EQ(told("The pier is open.", "The pier is not open."), "negation + not");
  EXPECT_EQ(told("They can't swim there.", "They can swim there."), "negation - can't; word + can");
  EXPECT_EQ(told("Built by Anna Berg for the town.", "Built by Olga Berg for the town."), "name Anna -> Olga");
  EXPECT_EQ(told("The water is cold.", "The water is warm."), "word cold -> warm");
  EXPECT_EQ(told("It fell to -5 degrees.", "It fell to 5 degrees."), "number -5 -> 5");
}

TEST(ContentDifference, CasePunctuationFormAndFunctionWordsAreNone) {
  EXPECT_TRUE(content_differences("The ferry leaves at noon.", "the FERRY\u200B leaves, at a noon!").empty());
  EXPECT_TRUE(content_differences("\uFF11\uFF12 boats", "12 boats").empty());
  EXPECT_TRUE(content_differences("", "").empty());
}

TEST(ContentDifference, SwappedWordsAreADifferenceOfOrder) {
  const auto found = content_differences("Lyon beat Paris", "Paris beat Lyon");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, DifferenceKind::kOrder);
  EXPECT_EQ(told("Lyon beat Paris", "Paris beat Lyon"), "order from Paris");
}

TEST(ContentDifference, CountsRepeatedWords) {
  EXPECT_EQ(told("he did not say it", "he did not not say it"), "negation + not");
}

TEST(ContentDifference, APieceLacksWordsWithoutDiffering) {
  EXPECT_EQ(told("The pier opened in 1912. It closed in 1950.", "It closed in 1950.", true), "");
  EXPECT_EQ(told("The pier opened in 1912. It closed in 1950.", "It closed in 1960.", true), "number + 1960");
}

TEST(ContentDifference, TellsTheGravestFirstAndNoMoreThanAsked) {
  const auto found = content_differences("", "red Paris not 7 blue", false, 3);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].word, "7");
  EXPECT_EQ(found[1].word, "not");
  EXPECT_EQ(found[2].word, "Paris");
}

}  // namespace
}  // namespace casemate
