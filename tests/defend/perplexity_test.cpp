#include "casemate/defend/perplexity.h"

#include <gtest/gtest.h>

#include <cmath>

#include "casemate/defend/calibration.h"
#include "casemate/defend/passage_cache.h"
#include "pool.h"
#include "scan_fixture.h"
#include "testing/scripted_llm.h"

namespace casemate {
namespace {

using test::candidate;
using test::kept_ids;
using test::verdict_about;

/// " the" is always likely, everything else is not.
std::unique_ptr<testing::ScriptedLlm> model(std::size_t context_tokens = 1000) {
  testing::ScriptedLlmOptions options;
  options.vocabulary = {" the", " zyx"};
  options.context_tokens = context_tokens;
  options.distribution = [](std::span<const TokenId>, std::string_view) {
    std::vector<double> weights(3 + 2 + 256, 0.1 / 260);
    weights[3] = 0.9;
    return weights;
  };
  return *testing::ScriptedLlm::create(std::move(options));
}

TEST(Perplexity, IsTheExponentialOfTheMeanLoss) {
  const auto llm = model();
  // Four tokens, of which the last three are scored: two at 0.9 and one at 0.1/260.
  const auto value = perplexity_of(*llm, UntrustedText(" the the the zyx"), {});
  ASSERT_TRUE(value.ok()) << value.error().message;
  EXPECT_NEAR(**value, std::exp(-(2 * std::log(0.9) + std::log(0.1 / 260)) / 3), 1e-3);
}

TEST(Perplexity, OfFewerThanTwoTokensIsUndefined) {
  const auto llm = model();
  EXPECT_FALSE(perplexity_of(*llm, UntrustedText(""), {})->has_value());
  EXPECT_FALSE(perplexity_of(*llm, UntrustedText(" the"), {})->has_value());
}

TEST(Perplexity, OfATextLongerThanTheContextIsThatOfItsBeginning) {
  const auto llm = model(8);
  const auto value = perplexity_of(*llm, UntrustedText(" the the the the the the the zyx zyx zyx"), {});
  ASSERT_TRUE(value.ok()) << value.error().message;
  EXPECT_NEAR(**value, 1 / 0.9, 1e-4);
}

class PerplexityDefence : public test::ScanFixture {
 protected:
  void SetUp() override {
    ScanFixture::SetUp();
    llm_ = model();
    cache_ = *make_memory_passage_cache();
    services_.model = llm_.get();
    services_.store = store_.get();
    services_.cache = cache_.get();
  }
  std::vector<PassageCandidate> pool_of_three() {
    return {candidate(1, 3, {}, " zyx zyx zyx"), candidate(2, 2, {}, " the the the"), candidate(3, 1, {}, " the")};
  }
  std::unique_ptr<testing::ScriptedLlm> llm_;
  std::unique_ptr<PassageCache> cache_;
};

TEST_F(PerplexityDefence, DropsTheUnlikelyAndKeepsWhatIsTooShortToJudge) {
  PerplexityOptions options;
  options.max_perplexity = 50;
  const auto defence = Perplexity::create(options, services_);
  ASSERT_TRUE(defence.ok()) << defence.error().message;
  const auto pool = pool_of_three();
  const auto ranking = (*defence)->rank({}, pool, 3, {});
  ASSERT_TRUE(ranking.ok()) << ranking.error().message;
  EXPECT_EQ(kept_ids(*ranking, pool), (std::vector<ChunkId>{2, 3}));
  EXPECT_NEAR(*verdict_about(*ranking, 1).score, 2600, 1);
  EXPECT_EQ(verdict_about(*ranking, 1).threshold, 50);
  EXPECT_FALSE(verdict_about(*ranking, 3).score.has_value());
}

TEST_F(PerplexityDefence, ReadsEachPassageOnce) {
  PerplexityOptions options;
  options.max_perplexity = 50;
  const auto defence = Perplexity::create(options, services_);
  const auto pool = pool_of_three();
  EXPECT_EQ(*(*defence)->precompute("default", pool, {}), 3U);
  const auto calls = llm_->usage().calls;
  EXPECT_EQ(*(*defence)->precompute("default", pool, {}), 0U);
  ASSERT_TRUE((*defence)->rank({}, pool, 3, {}).ok());
  EXPECT_EQ(llm_->usage().calls, calls);
}

TEST_F(PerplexityDefence, WithoutAThresholdNeedsACalibrationOfThisTenantAndModel) {
  const auto defence = Perplexity::create({}, services_);
  ASSERT_TRUE(defence.ok());
  const auto pool = pool_of_three();
  const auto without = (*defence)->rank({}, pool, 3, {});
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(without.error().message.find("casemate calibrate"), std::string::npos);
  add("a", "one two", nullptr);  // makes the tenant
  ASSERT_TRUE(
      write_calibration(*store_, "default", {"perplexity", Perplexity::calibration_setting(*llm_), 50, "{}"}).ok());
  const auto with = (*defence)->rank({}, pool, 3, {});
  ASSERT_TRUE(with.ok()) << with.error().message;
  EXPECT_EQ(with->passages.size(), 2U);
  DefenceQuery other;
  other.tenant = "other";
  EXPECT_FALSE((*defence)->rank(other, pool, 3, {}).ok());
}

TEST_F(PerplexityDefence, RefusesAMissingModelAndBadOptions) {
  EXPECT_FALSE(Perplexity::create({}, {}).ok());
  PerplexityOptions options;
  options.max_perplexity = 0.5;
  EXPECT_FALSE(Perplexity::create(options, services_).ok());
}

TEST_F(PerplexityDefence, CalibrationsAreReplacedAndADamagedListIsToldThenReplaced) {
  add("a", "one two", nullptr);
  ASSERT_TRUE(write_calibration(*store_, "default", {"x", "s", 1, "{}"}).ok());
  ASSERT_TRUE(write_calibration(*store_, "default", {"x", "s", 2, "{\"n\": 3}"}).ok());
  ASSERT_TRUE(write_calibration(*store_, "default", {"x", "t", 3, "{}"}).ok());
  EXPECT_EQ(read_calibrations(*store_, "default")->size(), 2U);
  EXPECT_EQ(*calibrated_value(store_.get(), "default", "x", "s"), 2);
  ASSERT_TRUE(store_->set_setting("default", "calibrations", "[{").ok());
  EXPECT_EQ(read_calibrations(*store_, "default").error().code, ErrorCode::kCorrupt);
  ASSERT_TRUE(write_calibration(*store_, "default", {"x", "s", 4, "{}"}).ok());
  EXPECT_EQ(read_calibrations(*store_, "default")->size(), 1U);
  EXPECT_FALSE(write_calibration(*store_, "default", {"x", "s", 4, "{"}).ok());
}

}  // namespace
}  // namespace casemate
