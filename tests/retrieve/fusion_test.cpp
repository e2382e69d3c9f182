#include <gtest/gtest.h>

#include "casemate/retrieve/retriever.h"

namespace casemate {
namespace {

TEST(ReciprocalRankFusion, AddsOneOverSixtyPlusRank) {
  const DenseHit dense[] = {{7, 0.9F}, {3, 0.8F}};
  const Bm25Hit words[] = {{3, 12.0}, {5, 11.0}};
  const auto fused = fuse_by_reciprocal_rank(dense, words, 60);
  ASSERT_EQ(fused.size(), 3U);
  EXPECT_EQ(fused[0].chunk, 3);
  EXPECT_DOUBLE_EQ(fused[0].score, 1.0 / 62 + 1.0 / 61);
  EXPECT_EQ(fused[1].chunk, 7);
  EXPECT_DOUBLE_EQ(fused[1].score, 1.0 / 61);
  EXPECT_EQ(fused[2].chunk, 5);
  EXPECT_DOUBLE_EQ(fused[2].score, 1.0 / 62);
  EXPECT_EQ(fused[0].dense_rank, 2);
  EXPECT_EQ(fused[0].bm25_rank, 1);
  EXPECT_FALSE(fused[2].dense_rank.has_value());
}

TEST(ReciprocalRankFusion, EqualScoresGoByChunkId) {
  const DenseHit dense[] = {{9, 0.5F}};
  const Bm25Hit words[] = {{2, 1.0}};
  const auto fused = fuse_by_reciprocal_rank(dense, words, 60);
  EXPECT_EQ(fused[0].chunk, 2);
  EXPECT_EQ(fused[1].chunk, 9);
}

TEST(RetrievalMode, NamesGoBothWaysAndOthersAreRefused) {
  for (const char* name : {"dense", "bm25", "hybrid"})
    EXPECT_EQ(retrieval_mode_name(*parse_retrieval_mode(name)), name);
  EXPECT_FALSE(parse_retrieval_mode("cosine").ok());
}

}  // namespace
}  // namespace casemate
