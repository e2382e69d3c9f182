#include "encoder/fixed_product.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/kernel_choice.h"

// Instruction sets are chosen function by function, since Highway 1.0.3 has no integer dot product: each function names
// its own target, and `fixed_kernel` picks one that this processor runs.
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define CASEMATE_FIXED_X86 1
#include <immintrin.h>
#endif

namespace casemate::kernels {
namespace {

constexpr std::size_t kPairs = kFixedBlock / 2;
constexpr std::size_t kBlockValues = kFixedBlock * kFixedPanel;

/// What one tile of rows and one panel of outputs need.
struct Tile {
  const std::int16_t* x;  // first row
  const float* x_scales;  // first row
  std::size_t x_stride;   // values between rows
  std::size_t blocks;
  const std::int16_t* w;  // the panel
  const float* w_scales;  // the panel
  const float* bias;      // the panel
};

std::int32_t pair_at(const std::int16_t* values) {
  std::int32_t pair = 0;
  std::memcpy(&pair, values, sizeof pair);
  return pair;
}

/// Writes `count` of a row's results, or adds them.
void put(const float* results, std::size_t count, bool add, float* y) {
  for (std::size_t c = 0; c < count; ++c) y[c] = add ? y[c] + results[c] : results[c];
}

/// One loop over panels and tiles for every instruction set: `run(tile, rows, results)` fills `results` [rows,
/// kFixedPanel] for at most kTileRows rows.
template <std::size_t kTileRows, class Run>
inline void for_each_tile(const FixedRows& x, const FixedWeights& weights, std::size_t rows, bool add, float* y,
                          const Run& run) {
  alignas(64) std::array<float, kTileRows * kFixedPanel> results;
  const std::size_t stride = weights.blocks * kFixedBlock;
  for (std::size_t first = 0; first < weights.out; first += kFixedPanel) {
    const std::size_t panel = first / kFixedPanel;
    const std::size_t columns = std::min(kFixedPanel, weights.out - first);
    for (std::size_t row = 0; row < rows; row += kTileRows) {
      const std::size_t count = std::min(kTileRows, rows - row);
      const Tile tile{x.values.data() + row * stride,
                      x.scales.data() + row * weights.blocks,
                      stride,
                      weights.blocks,
                      weights.values.data() + panel * weights.blocks * kBlockValues,
                      weights.scales.data() + panel * weights.blocks * kFixedPanel,
                      weights.bias.data() + panel * kFixedPanel};
      run(tile, count, results.data());
      for (std::size_t r = 0; r < count; ++r)
        put(results.data() + r * kFixedPanel, columns, add, y + (row + r) * weights.out + first);
    }
  }
}

void multiply_portable(const FixedRows& x, const FixedWeights& weights, std::size_t rows, bool add, float* y) {
  for_each_tile<1>(x, weights, rows, add, y, [](const Tile& t, std::size_t, float* results) {
    std::copy_n(t.bias, kFixedPanel, results);
    for (std::size_t block = 0; block < t.blocks; ++block) {
      std::array<std::int32_t, kFixedPanel> sums{};
      for (std::size_t i = 0; i < kFixedBlock; ++i) {
        const std::int16_t* w = t.w + block * kBlockValues + (i / 2) * kFixedPanel * 2 + i % 2;
        for (std::size_t c = 0; c < kFixedPanel; ++c) sums[c] += t.x[block * kFixedBlock + i] * w[c * 2];
      }
      for (std::size_t c = 0; c < kFixedPanel; ++c)
        results[c] += static_cast<float>(sums[c]) * t.w_scales[block * kFixedPanel + c] * t.x_scales[block];
    }
  });
}

#ifdef CASEMATE_FIXED_X86

bool has_avx2_and_fma() { return has_avx2() && has_fma(); }

#define CASEMATE_AVX2 __attribute__((target("avx2,fma")))

constexpr std::size_t kAvx2Rows = 2;

template <std::size_t kRows>
CASEMATE_AVX2 inline void tile_avx2(const Tile& t, float* results) {
  constexpr std::size_t kVectors = kFixedPanel / 8;
  for (std::size_t half = 0; half < kVectors; half += 2) {
    __m256 total[kRows][2];
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t v = 0; v < 2; ++v) total[r][v] = _mm256_loadu_ps(t.bias + (half + v) * 8);
    }
    for (std::size_t block = 0; block < t.blocks; ++block) {
      __m256i sum[kRows][2];
      for (std::size_t r = 0; r < kRows; ++r) sum[r][0] = sum[r][1] = _mm256_setzero_si256();
      const std::int16_t* w = t.w + block * kBlockValues + half * 16;
      for (std::size_t p = 0; p < kPairs; ++p, w += kFixedPanel * 2) {
        const __m256i w0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w));
        const __m256i w1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 16));
        for (std::size_t r = 0; r < kRows; ++r) {
          const __m256i pair = _mm256_set1_epi32(pair_at(t.x + r * t.x_stride + block * kFixedBlock + p * 2));
          sum[r][0] = _mm256_add_epi32(sum[r][0], _mm256_madd_epi16(pair, w0));
          sum[r][1] = _mm256_add_epi32(sum[r][1], _mm256_madd_epi16(pair, w1));
        }
      }
      for (std::size_t r = 0; r < kRows; ++r) {
        const __m256 scale = _mm256_set1_ps(t.x_scales[r * t.blocks + block]);
        for (std::size_t v = 0; v < 2; ++v) {
          const __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(sum[r][v]),
                                              _mm256_loadu_ps(t.w_scales + block * kFixedPanel + (half + v) * 8));
          total[r][v] = _mm256_fmadd_ps(scaled, scale, total[r][v]);
        }
      }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t v = 0; v < 2; ++v) _mm256_storeu_ps(results + r * kFixedPanel + (half + v) * 8, total[r][v]);
    }
  }
}

CASEMATE_AVX2 void multiply_avx2(const FixedRows& x, const FixedWeights& weights, std::size_t rows, bool add,
                                 float* y) {
  for_each_tile<kAvx2Rows>(x, weights, rows, add, y, [](const Tile& t, std::size_t count, float* results) {
    if (count == kAvx2Rows) {
      tile_avx2<kAvx2Rows>(t, results);
    } else {
      tile_avx2<1>(t, results);
    }
  });
}

#define CASEMATE_VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))

/// The plain conversion reads an undefined vector, which GCC 12 warns about.
CASEMATE_VNNI inline __m512 to_floats(__m512i v) { return _mm512_maskz_cvtepi32_ps(0xFFFF, v); }

constexpr std::size_t kVnniRows = 6;  // 12 sums, 12 totals, 2 of weights: 26 of 32 registers

template <std::size_t kRows>
CASEMATE_VNNI inline void tile_vnni(const Tile& t, float* results) {
  __m512 total[kRows][2];
  for (std::size_t r = 0; r < kRows; ++r) {
    total[r][0] = _mm512_loadu_ps(t.bias);
    total[r][1] = _mm512_loadu_ps(t.bias + 16);
  }
  for (std::size_t block = 0; block < t.blocks; ++block) {
    __m512i sum[kRows][2];
    for (std::size_t r = 0; r < kRows; ++r) sum[r][0] = sum[r][1] = _mm512_setzero_si512();
    const std::int16_t* w = t.w + block * kBlockValues;
    const std::int16_t* x = t.x + block * kFixedBlock;
    for (std::size_t p = 0; p < kPairs; ++p, w += kFixedPanel * 2, x += 2) {
      const __m512i w0 = _mm512_loadu_si512(w);
      const __m512i w1 = _mm512_loadu_si512(w + kFixedPanel);
      for (std::size_t r = 0; r < kRows; ++r) {
        const __m512i pair = _mm512_set1_epi32(pair_at(x + r * t.x_stride));
        sum[r][0] = _mm512_dpwssd_epi32(sum[r][0], w0, pair);
        sum[r][1] = _mm512_dpwssd_epi32(sum[r][1], w1, pair);
      }
    }
    const __m512 scale0 = _mm512_loadu_ps(t.w_scales + block * kFixedPanel);
    const __m512 scale1 = _mm512_loadu_ps(t.w_scales + block * kFixedPanel + 16);
    for (std::size_t r = 0; r < kRows; ++r) {
      const __m512 scale = _mm512_set1_ps(t.x_scales[r * t.blocks + block]);
      total[r][0] = _mm512_fmadd_ps(_mm512_mul_ps(to_floats(sum[r][0]), scale0), scale, total[r][0]);
      total[r][1] = _mm512_fmadd_ps(_mm512_mul_ps(to_floats(sum[r][1]), scale1), scale, total[r][1]);
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    _mm512_storeu_ps(results + r * kFixedPanel, total[r][0]);
    _mm512_storeu_ps(results + r * kFixedPanel + 16, total[r][1]);
  }
}

CASEMATE_VNNI void multiply_vnni(const FixedRows& x, const FixedWeights& weights, std::size_t rows, bool add,
                                 float* y) {
  for_each_tile<kVnniRows>(x, weights, rows, add, y, [](const Tile& t, std::size_t count, float* results) {
    switch (count) {
      case 6:
        return tile_vnni<6>(t, results);
      case 5:
        return tile_vnni<5>(t, results);
      case 4:
        return tile_vnni<4>(t, results);
      case 3:
        return tile_vnni<3>(t, results);
      case 2:
        return tile_vnni<2>(t, results);
      default:
        return tile_vnni<1>(t, results);
    }
  });
}

constexpr std::array kKernels = {FixedKernel{"avx512-vnni", has_vnni, multiply_vnni},
                                 FixedKernel{"avx2", has_avx2_and_fma, multiply_avx2},
                                 FixedKernel{"portable", runs_everywhere, multiply_portable}};
#else
constexpr std::array kKernels = {FixedKernel{"portable", runs_everywhere, multiply_portable}};
#endif

}  // namespace

std::span<const FixedKernel> fixed_kernels() noexcept { return kKernels; }

const FixedKernel& fixed_kernel() noexcept {
  static const FixedKernel& chosen = first_that_runs(fixed_kernels());
  return chosen;
}

}  // namespace casemate::kernels
