#include "encoder/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "encoder/kernels_backward.cpp"  // Highway compiles this file once for each instruction set
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway asks.
#include <hwy/highway.h>

#include "encoder/attention_tiles-inl.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace casemate::kernels {
namespace HWY_NAMESPACE {

/// With h the normalised row and s the gradient times gamma: (s - mean(s) - h * mean(s * h)) / standard deviation.
void LayerNormBackwardRow(const float* x, std::size_t width, const float* gamma, float epsilon, float* gradient) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const auto n = static_cast<float>(width);
  const Moments moments = RowMoments(x, width, epsilon);
  const V mean_v = hn::Set(d, moments.mean);
  const V scale_v = hn::Set(d, moments.scale);
  V sum_v = hn::Zero(d);
  V product_v = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    const V normal = hn::Mul(hn::Sub(hn::LoadU(d, x + i), mean_v), scale_v);
    const V scaled = hn::Mul(hn::LoadU(d, gradient + i), hn::LoadU(d, gamma + i));
    sum_v = hn::Add(sum_v, scaled);
    product_v = hn::MulAdd(scaled, normal, product_v);
  }
  float sum = Sum(sum_v);
  float product = Sum(product_v);
  for (; i < width; ++i) {
    sum += gradient[i] * gamma[i];
    product += gradient[i] * gamma[i] * (x[i] - moments.mean) * moments.scale;
  }
  const float mean = sum / n;
  const float slope = product / n;
  const V gradient_mean = hn::Set(d, mean);
  const V slope_v = hn::Set(d, slope);
  for (i = 0; i + lanes <= width; i += lanes) {
    const V normal = hn::Mul(hn::Sub(hn::LoadU(d, x + i), mean_v), scale_v);
    const V scaled = hn::Mul(hn::LoadU(d, gradient + i), hn::LoadU(d, gamma + i));
    const V rest = hn::NegMulAdd(normal, slope_v, hn::Sub(scaled, gradient_mean));
    hn::StoreU(hn::Mul(rest, scale_v), d, gradient + i);
  }
  for (; i < width; ++i) {
    const float normal = (x[i] - moments.mean) * moments.scale;
    gradient[i] = (gradient[i] * gamma[i] - mean - normal * slope) * moments.scale;
  }
}

void LayerNormBackward(const float* x, std::size_t rows, std::size_t width, const float* gamma, float epsilon,
                       float* gradient) {
  for (std::size_t row = 0; row < rows; ++row)
    LayerNormBackwardRow(x + row * width, width, gamma, epsilon, gradient + row * width);
}

/// One head's operands. `wide` is the head's width and `stride` the length, both rounded up to whole vectors.
struct HeadBackward {
  float* keys_t;          // [head_width, stride]
  float* values_t;        // [head_width, stride]
  float* keys;            // [length, wide]
  float* key_gradient;    // [length, wide]
  float* value_gradient;  // [length, wide]
  float* weights;         // [kQueryBlock, stride]: attention weights
  float* scores;          // [kQueryBlock, stride]: gradient of the weights, then of the scores
  float* queries;         // [kQueryBlock, wide]
  float* outs;            // [kQueryBlock, wide]: gradient of the block's outputs
  float* mixed;           // [kQueryBlock, wide]: gradient of the block's queries
  std::size_t length, head_width, stride, wide;
};

std::size_t RoundUp(std::size_t n) {
  const std::size_t lanes = hn::Lanes(D());
  return (n + lanes - 1) / lanes * lanes;
}

void LoadHeadBackward(const float* qkv, std::size_t hidden, std::size_t column, const HeadBackward& s) {
  for (std::size_t j = 0; j < s.length; ++j) {
    const float* key = qkv + j * 3 * hidden + hidden + column;
    const float* value = key + hidden;
    for (std::size_t i = 0; i < s.head_width; ++i) s.keys_t[i * s.stride + j] = key[i];
    for (std::size_t i = 0; i < s.head_width; ++i) s.values_t[i * s.stride + j] = value[i];
    std::memcpy(s.keys + j * s.wide, key, s.head_width * sizeof(float));
    std::fill(s.keys + j * s.wide + s.head_width, s.keys + (j + 1) * s.wide, 0.0F);
  }
  for (std::size_t i = 0; i < s.head_width; ++i) {
    for (std::size_t j = s.length; j < s.stride; ++j) s.keys_t[i * s.stride + j] = s.values_t[i * s.stride + j] = 0;
  }
  std::fill_n(s.key_gradient, s.length * s.wide, 0.0F);
  std::fill_n(s.value_gradient, s.length * s.wide, 0.0F);
}

void ScoreBlock(const float* const* rows, const float* columns, float scale, const HeadBackward& s, float* out) {
  const std::size_t lanes = hn::Lanes(D());
  std::size_t j = 0;
  for (; j + 3 * lanes <= s.stride; j += 3 * lanes)
    ScoreTile<3>(rows, s.head_width, columns + j, s.stride, scale, out + j);
  for (; j < s.stride; j += lanes) ScoreTile<1>(rows, s.head_width, columns + j, s.stride, scale, out + j);
}

/// Of one query: scores become weights, and the gradient of the weights that of the scores.
void SoftmaxBackwardRow(float* weights, float* gradient, float scale, const HeadBackward& s, float* presence) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V factor = hn::Set(d, SoftmaxRow(weights, s.length, s.stride));
  V dot_v = hn::Zero(d);
  for (std::size_t j = 0; j < s.stride; j += lanes) {
    const V weight = hn::Mul(hn::LoadU(d, weights + j), factor);
    hn::StoreU(weight, d, weights + j);
    dot_v = hn::MulAdd(weight, hn::LoadU(d, gradient + j), dot_v);
  }
  const V dot = hn::Set(d, Sum(dot_v));
  const V scale_v = hn::Set(d, scale);
  for (std::size_t j = 0; j < s.stride; j += lanes) {
    const V change = hn::Mul(hn::LoadU(d, weights + j), hn::Sub(hn::LoadU(d, gradient + j), dot));
    hn::StoreU(hn::Add(hn::LoadU(d, presence + j), change), d, presence + j);
    hn::StoreU(hn::Mul(change, scale_v), d, gradient + j);
  }
}

template <std::size_t kVectors>
void MixColumns(std::size_t i, const float* ones, const HeadBackward& s) {
  MixTile<kVectors>(s.scores, s.stride, s.length, s.keys + i, s.wide, ones, s.mixed + i);
  OuterTile<kVectors>(s.scores, s.stride, s.length, s.queries + i, s.wide, s.key_gradient + i);
  OuterTile<kVectors>(s.weights, s.stride, s.length, s.outs + i, s.wide, s.value_gradient + i);
}

void BlockBackward(const float* const* queries, const float* const* outs, std::size_t count, float scale,
                   const HeadBackward& s, float* presence) {
  const std::size_t lanes = hn::Lanes(D());
  ScoreBlock(queries, s.keys_t, scale, s, s.weights);
  ScoreBlock(outs, s.values_t, 1.0F, s, s.scores);
  for (std::size_t r = 0; r < count; ++r)
    SoftmaxBackwardRow(s.weights + r * s.stride, s.scores + r * s.stride, scale, s, presence);
  // Rows past a short block's end repeat its last query; they must add nothing.
  std::fill(s.weights + count * s.stride, s.weights + kQueryBlock * s.stride, 0.0F);
  std::fill(s.scores + count * s.stride, s.scores + kQueryBlock * s.stride, 0.0F);
  for (std::size_t r = 0; r < kQueryBlock; ++r) {
    std::memcpy(s.queries + r * s.wide, queries[r], s.head_width * sizeof(float));
    std::memcpy(s.outs + r * s.wide, outs[r], s.head_width * sizeof(float));
  }
  float ones[kQueryBlock];
  std::fill_n(ones, kQueryBlock, 1.0F);
  std::size_t i = 0;
  for (; i + 2 * lanes <= s.wide; i += 2 * lanes) MixColumns<2>(i, ones, s);
  for (; i < s.wide; i += lanes) MixColumns<1>(i, ones, s);
}

HeadBackward LayOut(float* scratch, std::size_t length, std::size_t head_width) {
  HeadBackward s{};
  s.length = length;
  s.head_width = head_width;
  s.stride = RoundUp(length);
  s.wide = RoundUp(head_width);
  const auto take = [&scratch](std::size_t floats) { return std::exchange(scratch, scratch + floats); };
  s.keys_t = take(head_width * s.stride);
  s.values_t = take(head_width * s.stride);
  for (float** matrix : {&s.keys, &s.key_gradient, &s.value_gradient}) *matrix = take(length * s.wide);
  for (float** block : {&s.weights, &s.scores}) *block = take(kQueryBlock * s.stride);
  for (float** block : {&s.queries, &s.outs, &s.mixed}) *block = take(kQueryBlock * s.wide);
  return s;
}

std::size_t AttentionBackwardScratch(std::size_t length, std::size_t head_width) {
  return 2 * head_width * RoundUp(length) + 3 * length * RoundUp(head_width) +
         kQueryBlock * (2 * RoundUp(length) + 3 * RoundUp(head_width)) + RoundUp(length);
}

void AttendBackward(const float* qkv, const float* out_gradient, std::size_t length, std::size_t heads,
                    std::size_t head_width, float* scratch, float* qkv_gradient, float* presence) {
  const std::size_t hidden = heads * head_width;
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_width));
  float* padded_presence = scratch;
  const HeadBackward s = LayOut(scratch + RoundUp(length), length, head_width);
  std::fill_n(padded_presence, s.stride, 0.0F);
  // The vectors' last lanes lie past the head's width: they are read, and must be zeros.
  std::fill_n(s.queries, kQueryBlock * s.wide, 0.0F);
  std::fill_n(s.outs, kQueryBlock * s.wide, 0.0F);
  for (std::size_t head = 0; head < heads; ++head) {
    const std::size_t column = head * head_width;
    LoadHeadBackward(qkv, hidden, column, s);
    for (std::size_t first = 0; first < length; first += kQueryBlock) {
      const std::size_t count = std::min(kQueryBlock, length - first);
      const float* queries[kQueryBlock];
      const float* outs[kQueryBlock];
      for (std::size_t r = 0; r < kQueryBlock; ++r) {
        const std::size_t row = first + std::min(r, count - 1);
        queries[r] = qkv + row * 3 * hidden + column;
        outs[r] = out_gradient + row * hidden + column;
      }
      BlockBackward(queries, outs, count, scale, s, padded_presence);
      for (std::size_t r = 0; r < count; ++r) {
        std::memcpy(qkv_gradient + (first + r) * 3 * hidden + column, s.mixed + r * s.wide, head_width * sizeof(float));
      }
    }
    for (std::size_t j = 0; j < length; ++j) {
      float* row = qkv_gradient + j * 3 * hidden + hidden + column;
      std::memcpy(row, s.key_gradient + j * s.wide, head_width * sizeof(float));
      std::memcpy(row + hidden, s.value_gradient + j * s.wide, head_width * sizeof(float));
    }
  }
  for (std::size_t j = 0; j < length; ++j) presence[j] += padded_presence[j];
}

}  // namespace HWY_NAMESPACE
}  // namespace casemate::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace casemate::kernels {

HWY_EXPORT(LayerNormBackward);
HWY_EXPORT(AttentionBackwardScratch);
HWY_EXPORT(AttendBackward);

void layer_norm_backward(const float* x, std::size_t rows, std::size_t width, const float* gamma, float epsilon,
                         float* gradient) {
  HWY_DYNAMIC_DISPATCH(LayerNormBackward)(x, rows, width, gamma, epsilon, gradient);
}
std::size_t attention_backward_scratch_floats(std::size_t length, std::size_t head_width) {
  return HWY_DYNAMIC_DISPATCH(AttentionBackwardScratch)(length, head_width);
}
void attend_backward(const float* qkv, const float* out_gradient, std::size_t length, std::size_t heads,
                     std::size_t head_width, float* scratch, float* qkv_gradient, float* presence) {
  HWY_DYNAMIC_DISPATCH(AttendBackward)
  (qkv, out_gradient, length, heads, head_width, scratch, qkv_gradient, presence);
}

}  // namespace casemate::kernels
#endif  // HWY_ONCE
