#include "casemate/defend/cluster.h"

#include <gtest/gtest.h>

#include "pool.h"

namespace casemate {
namespace {

using test::candidate;
using test::kept_ids;
using test::verdict_about;

Result<DefendedRanking> rank(const std::vector<PassageCandidate>& pool, int top_k, const ClusterOptions& options = {}) {
  auto made = Cluster::create(options);
  EXPECT_TRUE(made.ok());
  return (*made)->rank({}, pool, top_k, {});
}

// Three planted variants of one lie beside three passages about different things.
std::vector<PassageCandidate> planted() {
  return {candidate(1, 6, {1, 0.02F, 0}, "The bridge was opened in 1999 by the mayor of the town."),
          candidate(2, 5, {0, 1, 0}, "A bridge needs steel and stone."),
          candidate(3, 4, {1, 0.01F, 0.01F}, "The bridge was opened in 1999 by the old mayor of the town."),
          candidate(4, 3, {0, 0.5F, 0.8F}, "In spring the river carries ice."),
          candidate(5, 2, {1, 0, 0.02F}, "In 1999 the bridge was opened by the mayor of the town."),
          candidate(6, 1, {0, 0, 1}, "Ferries crossed here for centuries.")};
}

TEST(Cluster, DropsTheDenseClusterAndKeepsTheRest) {
  const auto pool = planted();
  const auto ranking = rank(pool, 5);
  ASSERT_TRUE(ranking.ok());
  EXPECT_EQ(kept_ids(*ranking, pool), (std::vector<ChunkId>{2, 4, 6}));
  const Verdict& verdict = verdict_about(*ranking, 3);
  EXPECT_EQ(verdict.decision, Decision::kDropped);
  EXPECT_GT(*verdict.score, 0.99);
  EXPECT_EQ(verdict.threshold, 0.88);
  EXPECT_GT(verdict.measures.at(0).second, 0.25);
}

TEST(Cluster, KeepsPassagesThatAreNearInMeaningButNotInWording) {
  auto pool = planted();
  pool[0].text = UntrustedText("Opening day came in 1999.");
  pool[2].text = UntrustedText("Its mayor cut a ribbon.");
  pool[4].text = UntrustedText("Traffic has crossed since then.");
  const auto ranking = rank(pool, 6);
  ASSERT_TRUE(ranking.ok());
  EXPECT_EQ(kept_ids(*ranking, pool), (std::vector<ChunkId>{1, 2, 3, 4, 5, 6}));
}

TEST(Cluster, OneCandidateOrNoneIsNeverSuspicious) {
  EXPECT_TRUE(rank({}, 3)->passages.empty());
  const std::vector<PassageCandidate> one = {candidate(9, 1, {1, 0}, "alone")};
  EXPECT_EQ(kept_ids(*rank(one, 3), one), (std::vector<ChunkId>{9}));
}

TEST(Cluster, CopiesOfOnePassageAllGo) {
  std::vector<PassageCandidate> pool;
  for (int i = 1; i <= 8; ++i) pool.push_back(candidate(i, 1, {0, 1}, "the same words in every copy"));
  const auto ranking = rank(pool, 5);
  ASSERT_TRUE(ranking.ok());
  EXPECT_TRUE(ranking->passages.empty());
  EXPECT_EQ(ranking->verdicts.size(), 8U);
}

TEST(Cluster, RefusesOptionsOutsideTheirRanges) {
  EXPECT_FALSE(Cluster::create({0, 0.88, 0.25}).ok());
  EXPECT_FALSE(Cluster::create({10, 1.5, 0.25}).ok());
  EXPECT_FALSE(Cluster::create({10, 0.88, -0.1}).ok());
}

}  // namespace
}  // namespace casemate
