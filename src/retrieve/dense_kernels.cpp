#include "retrieve/dense_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "retrieve/dense_kernels.cpp"  // Highway compiles this file once for each instruction set
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway asks.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace casemate::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

constexpr std::size_t kPartials = 32;
constexpr std::size_t kLanes = hn::MaxLanes(D());
constexpr std::size_t kVectors = kPartials / kLanes;
constexpr std::size_t kRowsAtOnce = 4;

/// Adds the upper half of a vector to its lower half until one lane is left.
template <class DV>
HWY_INLINE float SumByHalves(DV /*tag*/, hn::Vec<DV> v) {
#if HWY_TARGET == HWY_SCALAR
  return hn::GetLane(v);
#else
  if constexpr (hn::MaxLanes(DV()) == 1) {
    return hn::GetLane(v);
  } else {
    const hn::Half<DV> half;
    return SumByHalves(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
#endif
}

HWY_INLINE float SumPartials(V* partial) {
  for (std::size_t width = kVectors / 2; width >= 1; width /= 2) {
    for (std::size_t v = 0; v < width; ++v) partial[v] = hn::Add(partial[v], partial[v + width]);
  }
  return SumByHalves(D(), partial[0]);
}

template <std::size_t kRows>
HWY_INLINE void ScoreRows(const float* query, const float* rows, std::size_t d, float* out) {
  const D tag;
  V sum[kRows][kVectors];
  for (auto& row : sum) {
    for (V& v : row) v = hn::Zero(tag);
  }
  std::size_t i = 0;
  for (; i + kPartials <= d; i += kPartials) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      const V q = hn::LoadU(tag, query + i + v * kLanes);
      for (std::size_t r = 0; r < kRows; ++r)
        sum[r][v] = hn::MulAdd(q, hn::LoadU(tag, rows + r * d + i + v * kLanes), sum[r][v]);
    }
  }
  if (i < d) {
    // The rest, padded with zeros, which leave the partial sums as they are.
    float q_rest[kPartials] = {};
    std::copy(query + i, query + d, q_rest);
    for (std::size_t r = 0; r < kRows; ++r) {
      float x_rest[kPartials] = {};
      std::copy(rows + r * d + i, rows + (r + 1) * d, x_rest);
      for (std::size_t v = 0; v < kVectors; ++v) {
        sum[r][v] = hn::MulAdd(hn::LoadU(tag, q_rest + v * kLanes), hn::LoadU(tag, x_rest + v * kLanes), sum[r][v]);
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) out[r] = SumPartials(sum[r]);
}

void RowScores(const float* query, const float* rows, std::size_t count, std::size_t d, float* out) {
  std::size_t row = 0;
  for (; row + kRowsAtOnce <= count; row += kRowsAtOnce) {
    // The scan is bound by memory; asking early keeps more lines in flight than the hardware does by itself.
    for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
      for (std::size_t i = 0; i < d; i += 16) hwy::Prefetch(rows + (row + kRowsAtOnce * 2 + r) * d + i);
    }
    ScoreRows<kRowsAtOnce>(query, rows + row * d, d, out + row);
  }
  for (; row < count; ++row) ScoreRows<1>(query, rows + row * d, d, out + row);
}

constexpr std::size_t kTileVectors = 2;
constexpr std::size_t kTileRows = HWY_TARGET <= HWY_AVX3 ? 12 : 4;

std::size_t TileQueries() { return kTileVectors * kLanes; }
std::size_t TileRows() { return kTileRows; }

bool Tile(const float* queries_t, const float* rows, std::size_t d, const float* floors, float* out) {
  const D tag;
  constexpr std::size_t kWidth = kTileVectors * kLanes;
  V sum[kTileRows][kTileVectors];
  for (auto& row : sum) {
    for (V& v : row) v = hn::Zero(tag);
  }
  for (std::size_t i = 0; i < d; ++i) {
    V q[kTileVectors];
    for (std::size_t v = 0; v < kTileVectors; ++v) q[v] = hn::LoadU(tag, queries_t + i * kWidth + v * kLanes);
    for (std::size_t r = 0; r < kTileRows; ++r) {
      const V x = hn::Set(tag, rows[r * d + i]);
      for (std::size_t v = 0; v < kTileVectors; ++v) sum[r][v] = hn::MulAdd(x, q[v], sum[r][v]);
    }
  }
  bool any = false;
  for (std::size_t v = 0; v < kTileVectors; ++v) {
    const V floor = hn::LoadU(tag, floors + v * kLanes);
    for (std::size_t r = 0; r < kTileRows; ++r) {
      hn::StoreU(sum[r][v], tag, out + r * kWidth + v * kLanes);
      any = any || !hn::AllTrue(tag, hn::Lt(sum[r][v], floor));  // a NaN must be looked at
    }
  }
  return any;
}

double LargestSquareNorm(const float* rows, std::size_t count, std::size_t d) {
  double largest = 0;
  for (std::size_t row = 0; row < count; ++row) {
    double partial[8] = {};
    std::size_t i = 0;
    for (; i + 8 <= d; i += 8) {
      for (std::size_t l = 0; l < 8; ++l) {
        const auto x = static_cast<double>(rows[row * d + i + l]);
        partial[l] += x * x;
      }
    }
    for (; i < d; ++i) partial[0] += static_cast<double>(rows[row * d + i]) * static_cast<double>(rows[row * d + i]);
    double sum = 0;
    for (const double p : partial) sum += p;
    largest = std::max(largest, sum);
  }
  return largest;
}

}  // namespace HWY_NAMESPACE
}  // namespace casemate::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace casemate::kernels {

HWY_EXPORT(RowScores);
HWY_EXPORT(TileQueries);
HWY_EXPORT(TileRows);
HWY_EXPORT(Tile);
HWY_EXPORT(LargestSquareNorm);

void row_scores(const float* query, const float* rows, std::size_t count, std::size_t d, float* out) {
  HWY_DYNAMIC_DISPATCH(RowScores)(query, rows, count, d, out);
}
std::size_t batch_tile_queries() { return HWY_DYNAMIC_DISPATCH(TileQueries)(); }
std::size_t batch_tile_rows() { return HWY_DYNAMIC_DISPATCH(TileRows)(); }
bool batch_tile(const float* queries_t, const float* rows, std::size_t d, const float* floors, float* out) {
  return HWY_DYNAMIC_DISPATCH(Tile)(queries_t, rows, d, floors, out);
}
double largest_square_norm(const float* rows, std::size_t count, std::size_t d) {
  return HWY_DYNAMIC_DISPATCH(LargestSquareNorm)(rows, count, d);
}

}  // namespace casemate::kernels
#endif  // HWY_ONCE
