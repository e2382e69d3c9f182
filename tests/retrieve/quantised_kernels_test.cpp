#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "casemate/core/random.h"
#include "retrieve/aligned_array.h"
#include "retrieve/bound_kernels.h"
#include "retrieve/nibble_kernels.h"

namespace casemate::kernels {
namespace {

TEST(NibbleKernels, GiveTheSameIntegersAsPlainSums) {
  RandomStream random(1, "nibbles");
  int ran = 0;
  for (const NibbleKernel& kernel : nibble_kernels()) {
    if (!kernel.runs_here()) continue;
    ++ran;
    for (const std::size_t octets : {1, 2, 3, 7, 48, 96}) {
      for (const std::size_t rows : {1, 5}) {
        for (const std::size_t queries : {1, 3, 8, 17}) {
          for (const bool extreme : {false, true}) {
            AlignedArray<std::uint8_t> plane(rows * octets * kLineBytes);
            std::vector<std::int8_t> codes(queries * octets * kOctet);
            for (std::size_t i = 0; i < plane.size(); ++i)
              plane.data()[i] = extreme ? std::uint8_t{255} : static_cast<std::uint8_t>(random.below(256));
            for (std::int8_t& code : codes)
              code = static_cast<std::int8_t>(extreme ? -127 : static_cast<int>(random.below(255)) - 127);
            std::vector<std::int32_t> found(queries * rows * kGroupChunks);
            kernel.dots(plane.data(), rows, octets, codes.data(), queries, found.data());
            for (std::size_t q = 0; q < queries; ++q) {
              for (std::size_t r = 0; r < rows; ++r) {
                for (std::size_t c = 0; c < kGroupChunks; ++c) {
                  std::int32_t sum = 0;
                  for (std::size_t i = 0; i < octets * kOctet; ++i) {
                    const int byte = plane.data()[(r * octets + i / 8) * kLineBytes + 4 * c + i % 4];
                    sum += (i % 8 < 4 ? byte & 15 : byte >> 4) * codes[q * octets * kOctet + i];
                  }
                  ASSERT_EQ(found[(q * rows + r) * kGroupChunks + c], sum) << kernel.name << ' ' << octets;
                }
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GE(ran, 1);
  EXPECT_TRUE(nibble_kernels().back().runs_here());
}

TEST(NibbleKernels, HoldTheLargestDimension) {
  constexpr std::size_t kOctets = kMaxDimension / kOctet;
  AlignedArray<std::uint8_t> plane(kOctets * kLineBytes);
  std::fill_n(plane.data(), plane.size(), std::uint8_t{255});
  const std::vector<std::int8_t> codes(kMaxDimension, 127);
  for (const NibbleKernel& kernel : nibble_kernels()) {
    if (!kernel.runs_here()) continue;
    std::vector<std::int32_t> found(kGroupChunks);
    kernel.dots(plane.data(), 1, kOctets, codes.data(), 1, found.data());
    EXPECT_EQ(found[3], 15 * 127 * static_cast<std::int32_t>(kMaxDimension)) << kernel.name;
  }
}

TEST(BoundKernels, AddTheLargestAndTheSmallestOfEachChunk) {
  RandomStream random(2, "sums");
  for (std::size_t rows = 1; rows <= 20; ++rows) {
    for (std::size_t k = 1; k <= rows; ++k) {
      std::vector<float> values(rows * 16);
      // Integers, so that sums are exact in any order; equal ones abound.
      for (float& value : values) value = static_cast<float>(static_cast<int>(random.below(9)) - 4);
      float largest[16];
      float smallest[16];
      largest_sums(values.data(), rows, k, largest);
      smallest_sums(values.data(), rows, k, smallest);
      for (std::size_t c = 0; c < 16; ++c) {
        std::vector<float> own;
        for (std::size_t r = 0; r < rows; ++r) own.push_back(values[r * 16 + c]);
        std::sort(own.begin(), own.end());
        float low = 0;
        float high = 0;
        for (std::size_t i = 0; i < k; ++i) {
          low += own[i];
          high += own[rows - 1 - i];
        }
        ASSERT_EQ(smallest[c], low);
        ASSERT_EQ(largest[c], high);
      }
    }
  }
}

TEST(BoundKernels, ABoundThatIsNotANumberRulesNothingOut) {
  BoundTerms terms;
  terms.query_norm = std::numeric_limits<float>::infinity();
  terms.query_scale = 1;
  terms.clamp = std::numeric_limits<float>::infinity();
  const std::vector<std::int32_t> high(16, 1);
  std::vector<float> scale(16, 1.0F);
  std::vector<float> error(16, 0.0F);  // infinity times zero
  scale[3] = std::nanf("");
  error[4] = std::numeric_limits<float>::infinity();
  float upper[16];
  float lower[16];
  score_bounds(terms, high.data(), nullptr, scale.data(), error.data(), 1, upper, lower);
  for (int c = 0; c < 16; ++c) {
    EXPECT_EQ(upper[c], std::numeric_limits<float>::infinity()) << c;
    EXPECT_EQ(lower[c], -std::numeric_limits<float>::infinity()) << c;
  }
}

}  // namespace
}  // namespace casemate::kernels
