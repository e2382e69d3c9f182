#include "casemate/defend/fragment_recipe.h"
#include "casemate/defend/ragpart.h"
#include "scan_fixture.h"

namespace casemate {
namespace {

class NaiveScan : public test::ScanFixture {};

TEST_F(NaiveScan, EmbedsEachCombinationJoinedAsTextInOrder) {
  const auto recipe = make_combination_recipe(*encoder_, {3, FragmentUnit::kWord}, 2);
  ASSERT_TRUE(recipe.ok());
  ASSERT_EQ((*recipe)->rows_per_chunk(), 3);
  const std::string_view passage = "one two three";
  const auto rows = (*recipe)->vectors(std::span(&passage, 1), nullptr, {});
  ASSERT_TRUE(rows.ok());
  const std::vector<std::string_view> joined = {"one two", "one three", "two three"};
  EXPECT_EQ(*rows, encoder_->encode_passages(joined)->embeddings.values);
}

TEST_F(NaiveScan, AVoteIsAListOfOneCombination) {
  const auto naive = Naive::create({}, services_);
  ASSERT_TRUE(naive.ok()) << naive.error().message;
  add("a", "ferry noon pier one two three four five six seven", &(*naive)->recipe());
  add("b", "alpha beta gamma delta epsilon zeta eta theta iota kappa", &(*naive)->recipe());
  const auto outcome = (*naive)->scan(*store_, query("ferry noon pier"), 2, nullptr, pool_, {});
  ASSERT_TRUE(outcome.ok());
  ASSERT_EQ(outcome->verdicts.size(), 2U);
  EXPECT_EQ(outcome->verdicts[0].measures[1], (std::pair<std::string, double>{"lists", 10}));
  EXPECT_EQ(outcome->verdicts[0].measures[0], (std::pair<std::string, double>{"votes", 10}));
}

TEST_F(NaiveScan, RefusesMoreCombinationsThanCanVote) {
  EXPECT_FALSE(Naive::create({7, FragmentUnit::kWord, 3}, services_).ok());  // C(7, 3) = 35
  EXPECT_TRUE(Naive::create({6, FragmentUnit::kWord, 3}, services_).ok());   // 20
  EXPECT_FALSE(Naive::create({5, FragmentUnit::kWord, 0}, services_).ok());
}

}  // namespace
}  // namespace casemate
