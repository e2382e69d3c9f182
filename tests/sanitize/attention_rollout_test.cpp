#include "casemate/sanitize/attention_rollout.h"

#include <gtest/gtest.h>

#include <cmath>

#include "casemate/core/random.h"
#include "sanitize/full_rollout.h"

namespace casemate {
namespace {

using test::Matrix;

/// Random causal attention: rows of exponentials, so that weights span several orders of magnitude.
std::vector<Matrix> random_attention(std::size_t tokens, std::size_t layers, std::uint64_t seed) {
  RandomStream random(seed, "rollout test");
  std::vector<Matrix> out(layers, Matrix(tokens, std::vector<double>(tokens, 0.0)));
  for (Matrix& layer : out) {
    for (std::size_t row = 0; row < tokens; ++row) {
      double sum = 0;
      for (std::size_t i = 0; i <= row; ++i) sum += layer[row][i] = std::exp(6 * random.normal());
      for (std::size_t i = 0; i <= row; ++i) layer[row][i] /= sum;
    }
  }
  return out;
}

AttentionTriangles kept(const std::vector<Matrix>& attention, std::size_t block_rows) {
  const std::size_t tokens = attention[0].size();
  AttentionTriangles out(tokens);
  for (std::size_t first = 0; first < tokens; first += block_rows) {
    AttentionBlock block;
    block.first_row = first;
    block.rows = std::min(block_rows, tokens - first);
    block.columns = block.first_row + block.rows;
    for (block.layer = 0; block.layer < attention.size(); ++block.layer) {
      std::vector<float> weights;
      for (std::size_t r = 0; r < block.rows; ++r) {
        for (std::size_t i = 0; i < block.columns; ++i)
          weights.push_back(static_cast<float>(attention[block.layer][first + r][i]));
      }
      block.weights = weights;
      const Status added = out.add(block);
      EXPECT_TRUE(added.ok()) << added.error().message;
    }
  }
  return out;
}

TEST(AttentionRolloutTest, RowVectorsEqualTheFullMatrixProduct) {
  for (const auto& [tokens, layers, block] : {std::tuple{1U, 1U, 1U}, {7U, 3U, 2U}, {40U, 12U, 16U}, {65U, 30U, 64U}}) {
    const auto attention = random_attention(tokens, layers, tokens);
    const AttentionTriangles triangles = kept(attention, block);
    const Matrix full = test::full_rollout(attention);
    for (const std::size_t row : {std::size_t{0}, std::size_t{tokens / 2}, std::size_t{tokens - 1}}) {
      std::vector<double> unit(tokens, 0.0);
      unit[row] = 1;
      const auto rolled = triangles.rollout(unit);
      ASSERT_TRUE(rolled.ok());
      // Eleven bits a weight: 2^-11 of relative error a layer.
      for (std::size_t i = 0; i < tokens; ++i)
        EXPECT_NEAR((*rolled)[i], full[row][i], 5e-4 * layers * full[row][i] + 1e-9)
            << tokens << " " << row << " " << i;
    }
  }
}

TEST(AttentionRolloutTest, TheMeanOfRowsIsOneProduct) {
  const auto attention = random_attention(24, 5, 3);
  const AttentionTriangles triangles = kept(attention, 24);
  const Matrix full = test::full_rollout(attention);
  std::vector<double> mean(24, 0.0);
  for (std::size_t j = 20; j < 24; ++j) mean[j] = 0.25;
  const auto rolled = triangles.rollout(mean);
  ASSERT_TRUE(rolled.ok());
  double total = 0;
  for (std::size_t i = 0; i < 24; ++i) {
    const double expected = (full[20][i] + full[21][i] + full[22][i] + full[23][i]) / 4;
    EXPECT_NEAR((*rolled)[i], expected, 3e-3 * expected + 1e-9);
    total += (*rolled)[i];
  }
  EXPECT_NEAR(total, 1.0, 1e-5);
}

TEST(AttentionRolloutTest, SixteenBitsKeepSmallWeights) {
  // 1 / 4,000 and a thousandth of it are far below what IEEE half precision keeps in full.
  AttentionTriangles triangles(2);
  const std::vector<float> weights = {1.0F, 0.0F, 2.5e-7F, 1.0F - 2.5e-7F};
  ASSERT_TRUE(triangles.add({0, 0, 2, 2, weights}).ok());
  EXPECT_NEAR(triangles.weight(0, 1, 0), 2.5e-7F, 2.5e-7F / 1024);
  EXPECT_NEAR(triangles.weight(0, 0, 0), 1.0F, 1e-6F);
}

TEST(AttentionRolloutTest, TakesTwoBytesAWeightOfTheLowerTriangle) {
  const AttentionTriangles triangles = kept(random_attention(40, 6, 1), 40);
  EXPECT_EQ(triangles.bytes(), 6U * (40 * 41 / 2 * 2 + 40 * sizeof(float)));
}

TEST(AttentionRolloutTest, OfAnAnswerThatEndedEarlyIsThatOfItsOwnTokens) {
  const auto attention = random_attention(12, 3, 5);
  const AttentionTriangles exact = kept(attention, 4);
  AttentionTriangles roomy(20);
  for (std::size_t layer = 0; layer < 3; ++layer) {
    std::vector<float> weights;
    for (std::size_t r = 0; r < 12; ++r)
      for (std::size_t i = 0; i < 12; ++i) weights.push_back(static_cast<float>(attention[layer][r][i]));
    ASSERT_TRUE(roomy.add({layer, 0, 12, 12, weights}).ok());
  }
  EXPECT_EQ(roomy.end_at(13).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(roomy.end_at(21).error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(roomy.rollout(std::vector<double>(20, 0.05)).ok());
  ASSERT_TRUE(roomy.end_at(12).ok());
  std::vector<double> last(12, 0.0);
  last.back() = 1;
  EXPECT_EQ(*roomy.rollout(last), *exact.rollout(last));
  EXPECT_EQ(*roomy.mean_attention(last), *exact.mean_attention(last));
  EXPECT_EQ(roomy.bytes(), exact.bytes());
}

TEST(AttentionRolloutTest, RefusesRowsThatAreNoDistribution) {
  AttentionTriangles triangles(2);
  const std::vector<float> half = {1.0F, 0.0F, 0.25F, 0.25F};
  EXPECT_EQ(triangles.add({0, 0, 2, 2, half}).error().code, ErrorCode::kModel);
  const std::vector<float> nan = {1.0F, 0.0F, std::nanf(""), 0.5F};
  EXPECT_EQ(triangles.add({0, 0, 2, 2, nan}).error().code, ErrorCode::kModel);
  EXPECT_EQ(triangles.add({0, 1, 2, 3, half}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(triangles.rollout(std::vector<double>(3, 0.0)).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace casemate
