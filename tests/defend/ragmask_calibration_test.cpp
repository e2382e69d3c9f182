#include "casemate/defend/ragmask_calibration.h"

#include <gtest/gtest.h>

#include "mask_twin.h"
#include "pool.h"
#include "testing/hash_encoder.h"

namespace casemate {
namespace {

std::unique_ptr<Encoder> make_encoder() {
  testing::HashEncoderOptions options;
  options.dimension = 256;
  return testing::make_hash_encoder(options);
}

class RagMaskCalibration : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.mask_length_tokens = 3;
    options_.pool_factor = 2;
    // Each question has an honest passage that spreads its words, others, and a poison that holds it in one place.
    const std::string questions[] = {"copper dome storm", "plum stone jars", "ferry tide hour"};
    const std::string honest[] = {"copper was on the roof until a dome came and then a storm",
                                  "plum trees grow where stone is and people fill jars",
                                  "ferry crews wait for the tide at an hour nobody likes"};
    for (std::size_t i = 0; i < 3; ++i) {
      MaskCalibrationCase each;
      each.query.text = UntrustedText(questions[i]);
      each.query.embedding = test::embed_query(*encoder_, questions[i]);
      each.candidates = test::ranked_candidates(*encoder_, each.query.embedding,
                                                {honest[i], questions[i] + " buy our winter boots today they are cheap",
                                                 "a lamp on the hill", "salt and river mud"});
      for (std::size_t c = 0; c < 4; ++c) {
        if (each.candidates[c].chunk == 1) each.relevant = {c};
        if (each.candidates[c].chunk == 2) each.poisoned = {c};
      }
      cases_.push_back(std::move(each));
    }
  }

  std::unique_ptr<RagMask> defence() const { return *RagMask::create(options_, *encoder_, nullptr); }

  std::unique_ptr<Encoder> encoder_ = make_encoder();
  RagMaskOptions options_;
  std::vector<MaskCalibrationCase> cases_;
};

TEST_F(RagMaskCalibration, TheCurveIsWhatRankingAtEachDeltaGives) {
  MaskCalibrationSettings settings;
  settings.top_k = 1;
  settings.deltas = {0.0, 0.05, 0.1, 0.2, 0.3, 0.5};
  const auto calibration = calibrate_ragmask(*defence(), cases_, settings, {});
  ASSERT_TRUE(calibration.ok()) << calibration.error().message;
  ASSERT_GE(calibration->curve.size(), settings.deltas.size());
  for (const MaskCalibrationPoint& point : calibration->curve) {
    options_.delta = point.delta;
    options_.pool_factor = 4;
    std::size_t successes = 0, attacks = 0, suspicious = 0, segments = 0;
    for (const MaskCalibrationCase& each : cases_) {
      const auto ranking = defence()->rank(each.query, each.candidates, 1, {});
      ASSERT_TRUE(ranking.ok());
      successes += ranking->passages[0].candidate == each.relevant[0] ? 1 : 0;
      attacks += ranking->passages[0].candidate == each.poisoned[0] ? 1 : 0;
      const auto report = defence()->examine(each.query, each.candidates, {});
      suspicious += report->judgements[each.relevant[0]].suspicious();
      segments += report->judgements[each.relevant[0]].segments.size();
    }
    EXPECT_DOUBLE_EQ(point.clean_success, static_cast<double>(successes) / 3) << point.delta;
    EXPECT_DOUBLE_EQ(*point.attack_success, static_cast<double>(attacks) / 3) << point.delta;
    EXPECT_DOUBLE_EQ(point.suspicious_share, static_cast<double>(suspicious) / static_cast<double>(segments));
  }
  EXPECT_EQ(calibration->curve.back().suspicious_share, 0);
  EXPECT_EQ(calibration->questions, 3U);
  EXPECT_EQ(calibration->attacked_questions, 3U);
}

TEST_F(RagMaskCalibration, TheProposedDeltaIsTheLeastThatKeepsCleanSuccess) {
  for (MaskCalibrationCase& each : cases_) {
    each.candidates.erase(each.candidates.begin() + static_cast<std::ptrdiff_t>(each.poisoned[0]));
    each.poisoned.clear();
    for (std::size_t c = 0; c < each.candidates.size(); ++c) {
      if (each.candidates[c].chunk == 1) each.relevant = {c};
    }
  }
  MaskCalibrationSettings settings;
  settings.top_k = 1;
  settings.clean_success_loss = 0;
  const auto calibration = calibrate_ragmask(*defence(), cases_, settings, {});
  ASSERT_TRUE(calibration.ok());
  EXPECT_EQ(calibration->undefended_success, 1.0);
  EXPECT_FALSE(calibration->undefended_attack_success.has_value());
  bool below = true;
  for (const MaskCalibrationPoint& point : calibration->curve) {
    if (point.delta >= calibration->delta) {
      below = false;
      EXPECT_EQ(point.clean_success, 1.0);
    }
  }
  EXPECT_FALSE(below);
  EXPECT_TRUE(std::is_sorted(calibration->clean_drops.begin(), calibration->clean_drops.end()));
  // With no promise about clean success, the least delta will do.
  settings.clean_success_loss = 1;
  EXPECT_EQ(calibrate_ragmask(*defence(), cases_, settings, {})->delta, calibration->curve.front().delta);
}

TEST_F(RagMaskCalibration, RelativeDeltasAreSharesOfTheSimilarity) {
  options_.delta_relative = 0.5;
  MaskCalibrationSettings settings;
  settings.deltas = {0.25};
  const auto calibration = calibrate_ragmask(*defence(), cases_, settings, {});
  ASSERT_TRUE(calibration.ok());
  options_.delta_relative = 0.25;
  std::size_t suspicious = 0, segments = 0;
  for (const MaskCalibrationCase& each : cases_) {
    const auto report = defence()->examine(each.query, each.candidates, {});
    suspicious += report->judgements[each.relevant[0]].suspicious();
    segments += report->judgements[each.relevant[0]].segments.size();
  }
  EXPECT_DOUBLE_EQ(calibration->curve[0].suspicious_share,
                   static_cast<double>(suspicious) / static_cast<double>(segments));
}

TEST_F(RagMaskCalibration, BadInputIsRefused) {
  const auto code = [&](std::span<const MaskCalibrationCase> cases, const MaskCalibrationSettings& settings) {
    return calibrate_ragmask(*defence(), cases, settings, {}).error().code;
  };
  EXPECT_EQ(code({}, {}), ErrorCode::kInvalidArgument);
  MaskCalibrationSettings settings;
  settings.top_k = 0;
  EXPECT_EQ(code(cases_, settings), ErrorCode::kInvalidOption);
  settings = {};
  settings.deltas = {-1};
  EXPECT_EQ(code(cases_, settings), ErrorCode::kInvalidOption);
  cases_[1].relevant = {9};
  EXPECT_EQ(code(cases_, {}), ErrorCode::kInvalidArgument);
  for (MaskCalibrationCase& each : cases_) each.relevant.clear();
  EXPECT_EQ(code(cases_, {}), ErrorCode::kInvalidArgument);
}

TEST(Quantile, IsTheNearestRank) {
  const double values[] = {1, 2, 3, 4};
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 0.5), 2);
  EXPECT_EQ(quantile(values, 0.51), 3);
  EXPECT_EQ(quantile(values, 1), 4);
  EXPECT_EQ(quantile({}, 0.5), 0);
}

}  // namespace
}  // namespace casemate
