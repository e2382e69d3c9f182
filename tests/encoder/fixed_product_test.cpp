#include "encoder/fixed_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "casemate/core/random.h"

namespace casemate::kernels {
namespace {

std::vector<float> draw(RandomStream& random, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

/// One product with everything that is needed to check it.
struct Case {
  Case(std::size_t rows_, std::size_t in_, std::size_t out_, std::vector<float> x_, std::vector<float> w_,
       std::vector<float> bias_)
      : rows(rows_), in(in_), out(out_), x(std::move(x_)), w(std::move(w_)), bias(std::move(bias_)) {
    to_fixed_rows(x.data(), rows, in, fixed_x);
    fixed_w = to_fixed_weights(w, bias, in, out);
    to_fixed_rows(w.data(), out, in, columns);
  }

  [[nodiscard]] std::vector<float> run(const FixedKernel& kernel, bool add = false, float before = 0) const {
    std::vector<float> y(rows * out, before);
    kernel.multiply(fixed_x, fixed_w, rows, add, y.data());
    return y;
  }
  /// The sum of products of one block in 64 bits, from numbers that no panel has rearranged.
  [[nodiscard]] std::int64_t block_sum(std::size_t row, std::size_t o, std::size_t block) const {
    std::int64_t sum = 0;
    const std::size_t at = block * kFixedBlock;
    for (std::size_t i = 0; i < kFixedBlock; ++i) {
      sum += std::int64_t{fixed_x.values[row * fixed_w.blocks * kFixedBlock + at + i]} *
             columns.values[o * fixed_w.blocks * kFixedBlock + at + i];
    }
    return sum;
  }
  [[nodiscard]] double expected(std::size_t row, std::size_t o) const {
    auto total = static_cast<double>(bias[o]);
    for (std::size_t block = 0; block < fixed_w.blocks; ++block) {
      total += static_cast<double>(block_sum(row, o, block)) *
               static_cast<double>(fixed_x.scales[row * fixed_w.blocks + block]) *
               static_cast<double>(columns.scales[o * fixed_w.blocks + block]);
    }
    return total;
  }

  std::size_t rows, in, out;
  std::vector<float> x, w, bias;
  FixedRows fixed_x, columns;
  FixedWeights fixed_w;
};

template <class Check>
void for_each_kernel(const Check& check) {
  for (const FixedKernel& kernel : fixed_kernels()) {
    if (!kernel.runs_here()) continue;
    SCOPED_TRACE(kernel.name);
    check(kernel);
  }
}

TEST(FixedProduct, EveryKernelGivesTheSumsOfATwinIn64Bits) {
  RandomStream random(3, "fixed product");
  for (const std::size_t rows : {1, 2, 5, 6, 7, 13}) {
    for (const auto& [in, out] : {std::pair<std::size_t, std::size_t>{1, 1}, {8, 24}, {33, 7}, {64, 32}, {100, 70}}) {
      const Case c(rows, in, out, draw(random, rows * in), draw(random, out * in), draw(random, out));
      for_each_kernel([&](const FixedKernel& kernel) {
        for (const bool add : {false, true}) {
          const std::vector<float> y = c.run(kernel, add, 2.5F);
          for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t o = 0; o < out; ++o) {
              const double expected = c.expected(r, o) + (add ? 2.5 : 0.0);
              ASSERT_NEAR(static_cast<double>(y[r * out + o]), expected, 2e-6 * std::max(4.0, std::abs(expected)));
            }
          }
        }
      });
    }
  }
}

TEST(FixedProduct, AnElementIsOffByHalfAStepAtMost) {
  RandomStream random(4, "fixed rows");
  const std::vector<float> x = draw(random, 7 * 50);
  FixedRows fixed;
  to_fixed_rows(x.data(), 7, 50, fixed);
  for (std::size_t r = 0; r < 7; ++r) {
    for (std::size_t i = 0; i < 2 * kFixedBlock; ++i) {
      const auto value = static_cast<double>(fixed.values[r * 2 * kFixedBlock + i]);
      const auto scale = static_cast<double>(fixed.scales[r * 2 + i / kFixedBlock]);
      const double expected = i < 50 ? static_cast<double>(x[r * 50 + i]) : 0.0;
      ASSERT_NEAR(value * scale, expected, 0.5001 * scale);
      ASSERT_GT(scale, 0);
      ASSERT_LT(scale, 1e-3);  // normal numbers come with some thirteen bits
    }
  }
}

TEST(FixedProduct, NoSumLeaves32BitsWhateverTheBlocks) {
  constexpr std::size_t kIn = kFixedBlock;
  // Rows that reach the bound of Cauchy and Schwarz against each other, or the limit of one element.
  std::vector<std::vector<float>> shapes;
  shapes.emplace_back(kIn, 1.0F);
  shapes.emplace_back(kIn, -1.0F);
  shapes.emplace_back(kIn, 3.0e18F);
  shapes.emplace_back(kIn, 1e-17F);
  shapes.push_back(std::vector<float>(kIn));
  shapes.back()[5] = -7.0F;
  shapes.push_back(std::vector<float>(kIn));
  shapes.back()[0] = shapes.back()[1] = 1.0F;
  RandomStream random(5, "fixed extremes");
  for (int i = 0; i < 200; ++i) {
    shapes.push_back(draw(random, kIn));
    const double power = random.uniform() * 6;
    for (float& v : shapes.back()) v = std::copysign(std::pow(std::abs(v), static_cast<float>(power)), v);
  }
  std::vector<float> all;
  for (const auto& shape : shapes) all.insert(all.end(), shape.begin(), shape.end());
  const Case c(shapes.size(), kIn, shapes.size(), all, all, std::vector<float>(shapes.size()));
  std::int64_t most = 0;
  for (std::size_t r = 0; r < c.rows; ++r) {
    for (std::size_t o = 0; o < c.out; ++o) most = std::max(most, std::abs(c.block_sum(r, o, 0)));
  }
  EXPECT_LE(most, std::numeric_limits<std::int32_t>::max());
  EXPECT_GT(most, std::numeric_limits<std::int32_t>::max() / 1000 * 999);  // the bound is nearly reached
  for_each_kernel([&](const FixedKernel& kernel) {
    const std::vector<float> y = c.run(kernel);
    for (std::size_t r = 0; r < c.rows; ++r) {
      for (std::size_t o = 0; o < c.out; ++o) {
        const double expected = c.expected(r, o);
        if (std::abs(expected) > 1e38) continue;
        ASSERT_NEAR(static_cast<double>(y[r * c.out + o]), expected, 1e-6 * std::abs(expected)) << r << ' ' << o;
      }
    }
  });
}

TEST(FixedProduct, ARowDoesNotDependOnTheOthersBitForBit) {
  RandomStream random(6, "fixed rows alone");
  const std::size_t in = 96;
  const std::size_t out = 40;
  const Case all(25, in, out, draw(random, 25 * in), draw(random, out * in), draw(random, out));
  for_each_kernel([&](const FixedKernel& kernel) {
    const std::vector<float> together = all.run(kernel);
    for (std::size_t r = 0; r < all.rows; ++r) {
      const std::vector<float> row(all.x.begin() + static_cast<std::ptrdiff_t>(r * in),
                                   all.x.begin() + static_cast<std::ptrdiff_t>((r + 1) * in));
      const std::vector<float> alone = Case(1, in, out, row, all.w, all.bias).run(kernel);
      EXPECT_EQ(std::memcmp(alone.data(), together.data() + r * out, out * sizeof(float)), 0) << r;
    }
  });
}

TEST(FixedProduct, WhatIsNotFiniteStaysVisibleAndZerosGiveTheBias) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {inf, -inf, nan, 1e30F}) {
    std::vector<float> x(2 * 40, 0.0F);
    x[39] = bad;  // in the last, partial block of row 0
    const Case c(2, 40, 3, x, std::vector<float>(3 * 40, 0.5F), {1, 2, 3});
    for_each_kernel([&](const FixedKernel& kernel) {
      const std::vector<float> y = c.run(kernel);
      for (std::size_t o = 0; o < 3; ++o) {
        EXPECT_TRUE(std::isnan(y[o])) << bad;
        EXPECT_EQ(y[3 + o], static_cast<float>(o + 1));
      }
    });
  }
  const Case tiny(1, 40, 1, std::vector<float>(40, 1e-40F), std::vector<float>(40, 1.0F), {0.25F});
  for_each_kernel([&](const FixedKernel& kernel) { EXPECT_EQ(tiny.run(kernel)[0], 0.25F); });
}

TEST(FixedProduct, TransposedWeightsAreTheWeightsWithinHalfAStep) {
  RandomStream random(8, "fixed transpose");
  const Case c(1, 70, 37, draw(random, 70), draw(random, 37 * 70), draw(random, 37));
  std::vector<float> transposed(70 * 37);
  transpose_fixed_weights(c.fixed_w, transposed);
  for (std::size_t o = 0; o < 37; ++o) {
    for (std::size_t i = 0; i < 70; ++i) ASSERT_NEAR(transposed[i * 37 + o], c.w[o * 70 + i], 4e-4F);
  }
}

}  // namespace
}  // namespace casemate::kernels
