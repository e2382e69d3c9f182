#include "casemate/defend/suppression.h"

#include <gtest/gtest.h>

#include <limits>

#include "pool.h"

namespace casemate {
namespace {

using test::candidate;
using test::kept_ids;
using test::verdict_about;

std::unique_ptr<Suppression> make(const SuppressionOptions& options = {}) {
  auto made = Suppression::create(options);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return *std::move(made);
}

Result<DefendedRanking> rank(const std::vector<PassageCandidate>& pool, int top_k,
                             const SuppressionOptions& options = {}) {
  return make(options)->rank({}, pool, top_k, {});
}

// The study's weakness: a copy that ranks first is kept, and the passage that it copies goes.
TEST(Suppression, NeverReconsidersTheFirstCandidate) {
  const std::vector<PassageCandidate> pool = {candidate(1, 0.90, {1, 0}), candidate(2, 0.89, {0.999F, 0.0447F}),
                                              candidate(3, 0.50, {0, 1})};
  const auto ranking = rank(pool, 2);
  ASSERT_TRUE(ranking.ok());
  EXPECT_EQ(kept_ids(*ranking, pool), (std::vector<ChunkId>{1, 3}));
  const Verdict& dropped = verdict_about(*ranking, 2);
  EXPECT_EQ(dropped.decision, Decision::kDropped);
  EXPECT_EQ(dropped.copy_of, 1);
  EXPECT_NEAR(*dropped.score, 0.999, 1e-4);  // 0.999 / norm, computed by hand
  EXPECT_EQ(dropped.threshold, 0.97);
}

TEST(Suppression, BackfillsFromThePoolAndStopsAtTopK) {
  const std::vector<PassageCandidate> pool = {candidate(1, 5, {1, 0, 0}), candidate(2, 4, {1, 0, 0}),
                                              candidate(3, 3, {1, 0, 0}), candidate(4, 2, {0, 1, 0}),
                                              candidate(5, 1, {0, 0, 1})};
  const auto ranking = rank(pool, 2);
  ASSERT_TRUE(ranking.ok());
  EXPECT_EQ(kept_ids(*ranking, pool), (std::vector<ChunkId>{1, 4}));
  EXPECT_EQ(ranking->verdicts.size(), 4U);  // the fifth was not looked at
}

TEST(Suppression, ComparesWithKeptCandidatesOnly) {
  // 2 copies 1; 3 lies near 2 but not near 1, so it stays.
  const std::vector<PassageCandidate> pool = {candidate(1, 3, {1, 0}), candidate(2, 2, {0.98F, 0.199F}),
                                              candidate(3, 1, {0.92F, 0.392F})};
  const auto ranking = rank(pool, 3);
  ASSERT_TRUE(ranking.ok());
  EXPECT_EQ(kept_ids(*ranking, pool), (std::vector<ChunkId>{1, 3}));
}

TEST(Suppression, AThresholdOfOneDropsExactCopiesOnly) {
  const std::vector<float> odd = {0.123F, -0.456F, 0.789F};
  const std::vector<PassageCandidate> pool = {candidate(1, 3, odd), candidate(2, 2, odd),
                                              candidate(3, 1, {0.123F, -0.457F, 0.789F})};
  const auto ranking = rank(pool, 3, {20, 1.0});
  ASSERT_TRUE(ranking.ok());
  EXPECT_EQ(kept_ids(*ranking, pool), (std::vector<ChunkId>{1, 3}));
}

TEST(Suppression, NoCandidatesGiveAnEmptyRanking) {
  const auto ranking = rank({}, 5);
  ASSERT_TRUE(ranking.ok());
  EXPECT_TRUE(ranking->passages.empty());
}

TEST(Suppression, ManyCopiesOfOnePassageLeaveOne) {
  std::vector<PassageCandidate> pool;
  for (int i = 1; i <= 20; ++i) pool.push_back(candidate(i, 1.0, {0.6F, 0.8F}));
  const auto ranking = rank(pool, 5);
  ASSERT_TRUE(ranking.ok());
  EXPECT_EQ(kept_ids(*ranking, pool), (std::vector<ChunkId>{1}));
}

TEST(Suppression, ZeroVectorsAreCopiesOfNothing) {
  const std::vector<PassageCandidate> pool = {candidate(1, 1, {0, 0}), candidate(2, 1, {0, 0})};
  const auto ranking = rank(pool, 5);
  ASSERT_TRUE(ranking.ok());
  EXPECT_EQ(kept_ids(*ranking, pool), (std::vector<ChunkId>{1, 2}));
}

TEST(Suppression, NamesAPassageWithoutAUsableEmbedding) {
  const auto missing = rank({candidate(7, 1, {})}, 1);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(missing.error().message.find("passage 7"), std::string::npos);
  EXPECT_FALSE(rank({candidate(1, 1, {1, 0}), candidate(2, 1, {1})}, 1).ok());
  EXPECT_FALSE(rank({candidate(1, 1, {std::numeric_limits<float>::quiet_NaN(), 0})}, 1).ok());
}

TEST(Suppression, RefusesOptionsOutsideTheirRanges) {
  EXPECT_FALSE(Suppression::create({0, 0.97}).ok());
  EXPECT_FALSE(Suppression::create({1001, 0.97}).ok());
  EXPECT_FALSE(Suppression::create({20, 0.0}).ok());
  EXPECT_FALSE(Suppression::create({20, 1.01}).ok());
  EXPECT_FALSE(Suppression::create({20, std::numeric_limits<double>::quiet_NaN()}).ok());
}

}  // namespace
}  // namespace casemate
