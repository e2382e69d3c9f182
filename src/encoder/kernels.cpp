#include "encoder/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "encoder/kernels.cpp"  // Highway compiles this file once for each instruction set
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway asks.
#include <hwy/highway.h>

#include "encoder/attention_tiles-inl.h"

#include <algorithm>
#include <cmath>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace casemate::kernels {
namespace HWY_NAMESPACE {

void LayerNormRow(float* x, std::size_t width, const float* gamma, const float* beta, float epsilon) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const auto [mean, scale] = RowMoments(x, width, epsilon);
  const V mean_v = hn::Set(d, mean);
  const V scale_v = hn::Set(d, scale);
  std::size_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    const V normal = hn::Mul(hn::Sub(hn::LoadU(d, x + i), mean_v), scale_v);
    hn::StoreU(hn::MulAdd(normal, hn::LoadU(d, gamma + i), hn::LoadU(d, beta + i)), d, x + i);
  }
  for (; i < width; ++i) x[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
}

void LayerNorm(float* x, std::size_t rows, std::size_t width, const float* gamma, const float* beta, float epsilon) {
  for (std::size_t row = 0; row < rows; ++row) LayerNormRow(x + row * width, width, gamma, beta, epsilon);
}

void AddRows(const float* a, const float* b, const float* c, float* out, std::size_t width) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    V sum = hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i));
    if (c != nullptr) sum = hn::Add(sum, hn::LoadU(d, c + i));
    hn::StoreU(sum, d, out + i);
  }
  for (; i < width; ++i) out[i] = a[i] + b[i] + (c != nullptr ? c[i] : 0.0F);
}

void MeanRows(const float* x, std::size_t rows, std::size_t width, float* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const float scale = 1.0F / static_cast<float>(rows);
  std::size_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    V sum = hn::Zero(d);
    for (std::size_t row = 0; row < rows; ++row) sum = hn::Add(sum, hn::LoadU(d, x + row * width + i));
    hn::StoreU(hn::Mul(sum, hn::Set(d, scale)), d, out + i);
  }
  for (; i < width; ++i) {
    float sum = 0;
    for (std::size_t row = 0; row < rows; ++row) sum += x[row * width + i];
    out[i] = sum * scale;
  }
}

struct HeadScratch {
  float* keys_t;  // [head_width, stride]
  float* values;  // [length, value_stride]
  float* scores;  // [kQueryBlock, stride]
  float* mixed;   // [kQueryBlock, value_stride]
  std::size_t stride;
  std::size_t value_stride;
};

void LoadHead(const float* qkv, std::size_t length, std::size_t hidden, std::size_t head_width, std::size_t column,
              const HeadScratch& s) {
  for (std::size_t j = 0; j < length; ++j) {
    const float* key = qkv + j * 3 * hidden + hidden + column;
    for (std::size_t i = 0; i < head_width; ++i) s.keys_t[i * s.stride + j] = key[i];
    std::memcpy(s.values + j * s.value_stride, key + hidden, head_width * sizeof(float));
    for (std::size_t i = head_width; i < s.value_stride; ++i) s.values[j * s.value_stride + i] = 0;
  }
  for (std::size_t i = 0; i < head_width; ++i) {
    for (std::size_t j = length; j < s.stride; ++j) s.keys_t[i * s.stride + j] = 0;
  }
}

void AttendBlock(const float* const* queries, std::size_t length, std::size_t head_width, float scale,
                 const HeadScratch& s) {
  const std::size_t lanes = hn::Lanes(D());
  std::size_t j = 0;
  for (; j + 3 * lanes <= s.stride; j += 3 * lanes)
    ScoreTile<3>(queries, head_width, s.keys_t + j, s.stride, scale, s.scores + j);
  for (; j < s.stride; j += lanes) ScoreTile<1>(queries, head_width, s.keys_t + j, s.stride, scale, s.scores + j);
  float factor[kQueryBlock];
  for (std::size_t r = 0; r < kQueryBlock; ++r) factor[r] = SoftmaxRow(s.scores + r * s.stride, length, s.stride);
  std::size_t i = 0;
  for (; i + 2 * lanes <= s.value_stride; i += 2 * lanes)
    MixTile<2>(s.scores, s.stride, length, s.values + i, s.value_stride, factor, s.mixed + i);
  for (; i < s.value_stride; i += lanes)
    MixTile<1>(s.scores, s.stride, length, s.values + i, s.value_stride, factor, s.mixed + i);
}

void Attend(const float* qkv, std::size_t length, std::size_t heads, std::size_t head_width, float* scratch,
            float* out) {
  const std::size_t lanes = hn::Lanes(D());
  const auto round_up = [lanes](std::size_t n) { return (n + lanes - 1) / lanes * lanes; };
  const std::size_t hidden = heads * head_width;
  HeadScratch s{};
  s.stride = round_up(length);
  s.value_stride = round_up(head_width);
  s.keys_t = scratch;
  s.values = s.keys_t + head_width * s.stride;
  s.scores = s.values + length * s.value_stride;
  s.mixed = s.scores + kQueryBlock * s.stride;
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_width));
  for (std::size_t head = 0; head < heads; ++head) {
    const std::size_t column = head * head_width;
    LoadHead(qkv, length, hidden, head_width, column, s);
    for (std::size_t first = 0; first < length; first += kQueryBlock) {
      const std::size_t count = std::min(kQueryBlock, length - first);
      const float* queries[kQueryBlock];
      // A short last block repeats its last query; the repeats are computed and not written.
      for (std::size_t r = 0; r < kQueryBlock; ++r)
        queries[r] = qkv + (first + std::min(r, count - 1)) * 3 * hidden + column;
      AttendBlock(queries, length, head_width, scale, s);
      for (std::size_t r = 0; r < count; ++r) {
        std::memcpy(out + (first + r) * hidden + column, s.mixed + r * s.value_stride, head_width * sizeof(float));
      }
    }
  }
}

std::size_t AttentionScratch(std::size_t length, std::size_t head_width) {
  const std::size_t lanes = hn::Lanes(D());
  const auto round_up = [lanes](std::size_t n) { return (n + lanes - 1) / lanes * lanes; };
  return head_width * round_up(length) + length * round_up(head_width) +
         kQueryBlock * (round_up(length) + round_up(head_width));
}

const char* TargetName() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace casemate::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace casemate::kernels {

HWY_EXPORT(LayerNorm);
HWY_EXPORT(AddRows);
HWY_EXPORT(MeanRows);
HWY_EXPORT(Attend);
HWY_EXPORT(AttentionScratch);
HWY_EXPORT(TargetName);

void layer_norm(float* x, std::size_t rows, std::size_t width, const float* gamma, const float* beta, float epsilon) {
  HWY_DYNAMIC_DISPATCH(LayerNorm)(x, rows, width, gamma, beta, epsilon);
}
void add_rows(const float* a, const float* b, const float* c, float* out, std::size_t width) {
  HWY_DYNAMIC_DISPATCH(AddRows)(a, b, c, out, width);
}
void mean_rows(const float* x, std::size_t rows, std::size_t width, float* out) {
  HWY_DYNAMIC_DISPATCH(MeanRows)(x, rows, width, out);
}
std::size_t attention_scratch_floats(std::size_t length, std::size_t head_width) {
  return HWY_DYNAMIC_DISPATCH(AttentionScratch)(length, head_width);
}
void attend(const float* qkv, std::size_t length, std::size_t heads, std::size_t head_width, float* scratch,
            float* out) {
  HWY_DYNAMIC_DISPATCH(Attend)(qkv, length, heads, head_width, scratch, out);
}
const char* instruction_set() { return HWY_DYNAMIC_DISPATCH(TargetName)(); }

}  // namespace casemate::kernels
#endif  // HWY_ONCE
