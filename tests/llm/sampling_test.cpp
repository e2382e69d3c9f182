#include "llm/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "casemate/core/random.h"

namespace casemate::llm {
namespace {

TEST(SamplingTest, ThePropertiesOfTheDrawsFollowTheProbabilities) {
  const std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.15F), std::log(0.05F)};
  GenerateOptions options;
  options.temperature = 1;
  RandomStream random(1, "draws");
  std::vector<int> counts(4, 0);
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) ++counts[static_cast<std::size_t>(choose(logits, options, random))];
  EXPECT_NEAR(counts[0], 0.5 * kDraws, 300);
  EXPECT_NEAR(counts[3], 0.05 * kDraws, 150);
  options.top_p = 0.7;  // the first two reach it
  for (int i = 0; i < 1000; ++i) EXPECT_LT(choose(logits, options, random), 2);
}

/// The distribution after temperature, top_k and top_p by its definition: everything in order, and the first so many.
std::vector<double> expected_shares(const std::vector<float>& logits, const GenerateOptions& options) {
  std::vector<std::size_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), std::size_t{0});
  std::stable_sort(ids.begin(), ids.end(), [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  if (options.top_k > 0) ids.resize(std::min(ids.size(), static_cast<std::size_t>(options.top_k)));
  std::vector<double> shares(logits.size(), 0.0);
  double total = 0;
  for (const std::size_t id : ids)
    total += shares[id] = std::exp(static_cast<double>(logits[id]) / options.temperature);
  double kept = 0;
  for (const std::size_t id : ids) {
    if (kept >= options.top_p * total) shares[id] = 0;
    kept += shares[id];
  }
  for (double& share : shares) share /= kept;
  return shares;
}

TEST(SamplingTest, DrawsFromAVocabularyThatIsOrderedInPartsHaveTheSharesOfTheDefinition) {
  RandomStream values(3, "logits");
  std::vector<float> logits(700);
  for (float& value : logits) value = static_cast<float>(2 * values.normal());
  struct Case {
    double temperature, top_p;
    int top_k;
  };
  for (const Case& each : {Case{1, 1, 0}, Case{1.5, 0.9, 0}, Case{0.7, 1, 100}, Case{2, 0.8, 300}}) {
    GenerateOptions options;
    options.temperature = each.temperature;
    options.top_p = each.top_p;
    options.top_k = each.top_k;
    const std::vector<double> expected = expected_shares(logits, options);
    RandomStream random(5, "draws");
    constexpr int kDraws = 10000;
    std::vector<int> counts(logits.size(), 0);
    for (int i = 0; i < kDraws; ++i) ++counts[static_cast<std::size_t>(choose(logits, options, random))];
    // Pearson's statistic over the ids that are expected often enough, and the others together.
    double statistic = 0, rest_expected = 0, rest_drawn = 0;
    int cells = 0;
    for (std::size_t id = 0; id < logits.size(); ++id) {
      const double many = expected[id] * kDraws;
      if (many == 0) {
        EXPECT_EQ(counts[id], 0) << id << " was cut off by top_k or top_p";
      }
      if (many < 10) {
        rest_expected += many;
        rest_drawn += counts[id];
        continue;
      }
      statistic += (counts[id] - many) * (counts[id] - many) / many;
      ++cells;
    }
    if (rest_expected > 10) {
      statistic += (rest_drawn - rest_expected) * (rest_drawn - rest_expected) / rest_expected;
      ++cells;
    }
    EXPECT_LT(statistic, cells + 4 * std::sqrt(2.0 * cells))
        << each.temperature << " " << each.top_p << " " << each.top_k;
  }
}

TEST(SamplingTest, WhatIsNoNumberOrForbiddenIsNeverDrawn) {
  std::vector<float> logits(500, -INFINITY);
  for (std::size_t i = 0; i < logits.size(); i += 3) logits[i] = NAN;
  logits[100] = 1;
  logits[400] = 1;
  GenerateOptions options;
  options.temperature = 3;
  RandomStream random(7, "draws");
  for (int i = 0; i < 1000; ++i) {
    const TokenId id = choose(logits, options, random);
    EXPECT_TRUE(id == 100 || id == 400) << id;
  }
  EXPECT_EQ(likeliest(logits, 2), (std::vector<TokenId>{100, 400}));
}

TEST(SamplingTest, EqualLogitsGiveTheLowestIdAndNotANumberGivesAnError) {
  EXPECT_EQ(argmax(std::vector<float>{1, 3, 3, 2}), 1);
  EXPECT_FALSE(log_softmax(std::vector<float>{1, NAN}).ok());
  EXPECT_FALSE(log_softmax(std::vector<float>{-INFINITY, -INFINITY}).ok());
  EXPECT_EQ(log_softmax(std::vector<float>{1000, -INFINITY}).value()[0], 0.0F);
}

}  // namespace
}  // namespace casemate::llm
