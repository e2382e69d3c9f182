#include "retrieve/dense_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "casemate/core/random.h"

namespace casemate {
namespace {

std::vector<float> draw(std::size_t count, const char* name, double scale = 1) {
  RandomStream random(11, name);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.normal() * scale);
  return values;
}

/// The canonical order of the header, in plain code.
float canonical(const float* q, const float* x, std::size_t d) {
  float partial[32] = {};
  for (std::size_t i = 0; i < d; ++i) partial[i % 32] = std::fma(q[i], x[i], partial[i % 32]);
  for (std::size_t width = 16; width >= 1; width /= 2) {
    for (std::size_t l = 0; l < width; ++l) partial[l] += partial[l + width];
  }
  return partial[0];
}

TEST(RowScores, FollowTheCanonicalOrderBitForBitForAnyDimensionAndCount) {
  for (const std::size_t d : {1, 2, 7, 31, 32, 33, 64, 100, 383, 384, 768, 1000}) {
    const std::vector<float> query = draw(d, "q");
    for (const std::size_t count : {1, 3, 4, 9}) {
      const std::vector<float> rows = draw(count * d, "x");
      std::vector<float> out(count);
      kernels::row_scores(query.data(), rows.data(), count, d, out.data());
      for (std::size_t r = 0; r < count; ++r) {
        const float expected = canonical(query.data(), rows.data() + r * d, d);
        EXPECT_EQ(std::memcmp(&out[r], &expected, sizeof expected), 0) << "d " << d << " row " << r;
      }
    }
  }
}

TEST(BatchTile, StaysWithinItsStatedErrorOfTheCanonicalScore) {
  const std::size_t width = kernels::batch_tile_queries();
  const std::size_t height = kernels::batch_tile_rows();
  for (const std::size_t d : {1, 5, 384, 1024}) {
    const std::vector<float> queries_t = draw(d * width, "queries", 30);
    const std::vector<float> rows = draw(height * d, "rows", 0.01);
    const std::vector<float> floors(width, 1e30F);
    std::vector<float> out(width * height);
    EXPECT_FALSE(kernels::batch_tile(queries_t.data(), rows.data(), d, floors.data(), out.data()));
    const double du = static_cast<double>(d) * 0x1p-24;
    for (std::size_t q = 0; q < width; ++q) {
      std::vector<float> query(d);
      double query_squares = 0;
      for (std::size_t i = 0; i < d; ++i) {
        query[i] = queries_t[i * width + q];
        query_squares += static_cast<double>(query[i]) * static_cast<double>(query[i]);
      }
      for (std::size_t r = 0; r < height; ++r) {
        const float exact = canonical(query.data(), rows.data() + r * d, d);
        const double bound =
            2 * du / (1 - du) * std::sqrt(query_squares * kernels::largest_square_norm(rows.data() + r * d, 1, d));
        EXPECT_LE(std::abs(static_cast<double>(out[r * width + q]) - static_cast<double>(exact)), bound + 1e-40);
      }
    }
  }
}

TEST(BatchTile, SaysWhetherAnyScoreReachesItsFloor) {
  const std::size_t width = kernels::batch_tile_queries();
  const std::size_t height = kernels::batch_tile_rows();
  const std::vector<float> queries_t(width, 1.0F);
  std::vector<float> rows(height, 1.0F);
  std::vector<float> floors(width, 2.0F);
  std::vector<float> out(width * height);
  EXPECT_FALSE(kernels::batch_tile(queries_t.data(), rows.data(), 1, floors.data(), out.data()));
  floors.back() = 1.0F;
  EXPECT_TRUE(kernels::batch_tile(queries_t.data(), rows.data(), 1, floors.data(), out.data()));
  floors.back() = 2.0F;
  rows[0] = std::nanf("");
  EXPECT_TRUE(kernels::batch_tile(queries_t.data(), rows.data(), 1, floors.data(), out.data()));
}

}  // namespace
}  // namespace casemate
