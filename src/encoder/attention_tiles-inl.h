// src/encoder/attention_tiles-inl.h: what forward and backward kernels share: moments of a row, and the tiles
// that attention is made of. For Highway's compilation for each instruction set, hence a guard that lets it in once for
// each.
#if defined(CASEMATE_ENCODER_ATTENTION_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CASEMATE_ENCODER_ATTENTION_TILES_INL_H_
#undef CASEMATE_ENCODER_ATTENTION_TILES_INL_H_
#else
#define CASEMATE_ENCODER_ATTENTION_TILES_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cmath>
#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace casemate::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

HWY_INLINE float Sum(V v) { return hn::GetLane(hn::SumOfLanes(D(), v)); }
HWY_INLINE float Max(V v) { return hn::GetLane(hn::MaxOfLanes(D(), v)); }

/// Mean and 1 / standard deviation of a row.
struct Moments {
  float mean;
  float scale;
};

HWY_INLINE Moments RowMoments(const float* x, std::size_t width, float epsilon) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const auto n = static_cast<float>(width);
  V sum_v = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= width; i += lanes) sum_v = hn::Add(sum_v, hn::LoadU(d, x + i));
  float sum = Sum(sum_v);
  for (; i < width; ++i) sum += x[i];
  const float mean = sum / n;
  const V mean_v = hn::Set(d, mean);
  V squares_v = hn::Zero(d);
  for (i = 0; i + lanes <= width; i += lanes) {
    const V centred = hn::Sub(hn::LoadU(d, x + i), mean_v);
    squares_v = hn::MulAdd(centred, centred, squares_v);
  }
  float squares = Sum(squares_v);
  for (; i < width; ++i) squares += (x[i] - mean) * (x[i] - mean);
  return {mean, 1.0F / std::sqrt(squares / n + epsilon)};
}

constexpr std::size_t kQueryBlock = HWY_TARGET <= HWY_AVX3 ? 8 : 4;

/// scores[r][j] = scale * q_r . k_j for kQueryBlock queries and kVectors vectors of keys; keys_t is [head_width,
/// stride].
template <std::size_t kVectors>
HWY_INLINE void ScoreTile(const float* const* queries, std::size_t head_width, const float* keys_t, std::size_t stride,
                          float scale, float* scores) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V sum[kQueryBlock][kVectors];
  for (auto& row : sum) {
    for (V& v : row) v = hn::Zero(d);
  }
  for (std::size_t i = 0; i < head_width; ++i) {
    V key[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) key[v] = hn::LoadU(d, keys_t + i * stride + v * lanes);
    for (std::size_t r = 0; r < kQueryBlock; ++r) {
      const V q = hn::Set(d, queries[r][i]);
      for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(q, key[v], sum[r][v]);
    }
  }
  const V scale_v = hn::Set(d, scale);
  for (std::size_t r = 0; r < kQueryBlock; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v)
      hn::StoreU(hn::Mul(sum[r][v], scale_v), d, scores + r * stride + v * lanes);
  }
}

/// Turns a row of `length` scores into exponentials (padding up to `stride` becomes 0) and returns 1 / their sum.
HWY_INLINE float SoftmaxRow(float* row, std::size_t length, std::size_t stride) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = length; i < stride; ++i) row[i] = -1e30F;
  V highest = hn::LoadU(d, row);
  for (std::size_t i = lanes; i < stride; i += lanes) highest = hn::Max(highest, hn::LoadU(d, row + i));
  const V top = hn::Set(d, Max(highest));
  V sum = hn::Zero(d);
  for (std::size_t i = 0; i < stride; i += lanes) {
    const V e = hn::Exp(d, hn::Sub(hn::LoadU(d, row + i), top));
    sum = hn::Add(sum, e);
    hn::StoreU(e, d, row + i);
  }
  return 1.0F / Sum(sum);
}

/// out[r] = factor[r] * sum_j weights[r][j] * values[j], for kVectors vectors of the head's width.
template <std::size_t kVectors>
HWY_INLINE void MixTile(const float* weights, std::size_t stride, std::size_t length, const float* values,
                        std::size_t value_stride, const float* factor, float* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V sum[kQueryBlock][kVectors];
  for (auto& row : sum) {
    for (V& v : row) v = hn::Zero(d);
  }
  for (std::size_t j = 0; j < length; ++j) {
    V value[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) value[v] = hn::LoadU(d, values + j * value_stride + v * lanes);
    for (std::size_t r = 0; r < kQueryBlock; ++r) {
      const V w = hn::Set(d, weights[r * stride + j]);
      for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(w, value[v], sum[r][v]);
    }
  }
  for (std::size_t r = 0; r < kQueryBlock; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(hn::Mul(sum[r][v], hn::Set(d, factor[r])), d, out + r * value_stride + v * lanes);
    }
  }
}

/// out[j] += sum_r weights[r][j] * rows[r], for j in [0, length) and kVectors vectors of the head's width.
template <std::size_t kVectors>
HWY_INLINE void OuterTile(const float* weights, std::size_t stride, std::size_t length, const float* rows,
                          std::size_t row_stride, float* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V row[kQueryBlock][kVectors];
  for (std::size_t r = 0; r < kQueryBlock; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) row[r][v] = hn::LoadU(d, rows + r * row_stride + v * lanes);
  }
  for (std::size_t j = 0; j < length; ++j) {
    V sum[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) sum[v] = hn::LoadU(d, out + j * row_stride + v * lanes);
    for (std::size_t r = 0; r < kQueryBlock; ++r) {
      const V w = hn::Set(d, weights[r * stride + j]);
      for (std::size_t v = 0; v < kVectors; ++v) sum[v] = hn::MulAdd(w, row[r][v], sum[v]);
    }
    for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, out + j * row_stride + v * lanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace casemate::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
