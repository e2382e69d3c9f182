#include "encoder/fixed_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "encoder/fixed_rows.cpp"  // Highway compiles this file once for each instruction set
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway asks.
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace casemate::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Numbers of one block in fixed point; returns what gives them back when multiplied. `x` has kFixedBlock values.
float ToFixedBlock(const float* HWY_RESTRICT x, std::int16_t* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<std::int16_t, decltype(d)> d16;
  const std::size_t lanes = hn::Lanes(d);
  auto squares = hn::Zero(d);
  auto largest = hn::Zero(d);
  for (std::size_t i = 0; i < kFixedBlock; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    squares = hn::MulAdd(v, v, squares);
    largest = hn::Max(largest, hn::Abs(v));
  }
  const float norm = std::sqrt(hn::GetLane(hn::SumOfLanes(d, squares)));
  const float most = hn::GetLane(hn::MaxOfLanes(d, largest));
  if (!(norm <= std::numeric_limits<float>::max())) {
    std::fill_n(out, kFixedBlock, std::int16_t{0});
    return std::numeric_limits<float>::quiet_NaN();
  }
  // Squares of numbers so small are not normal any more; the block counts as zero.
  if (norm < 1e-18F) {
    std::fill_n(out, kFixedBlock, std::int16_t{0});
    return 0.0F;
  }
  // sqrt(2^31) = 46340.95; rounding adds at most sqrt(kFixedBlock) / 2 < 3 to the norm, float arithmetic less than 1.
  const float scale = std::min(46335.0F / norm, 32767.0F / most);
  const auto scale_v = hn::Set(d, scale);
  for (std::size_t i = 0; i < kFixedBlock; i += lanes)
    hn::StoreU(hn::DemoteTo(d16, hn::NearestInt(hn::Mul(hn::LoadU(d, x + i), scale_v))), d16, out + i);
  return 1.0F / scale;
}

void ToFixedRows(const float* x, std::size_t rows, std::size_t width, std::int16_t* out, float* scales) {
  const std::size_t whole = width / kFixedBlock;
  const std::size_t rest = width % kFixedBlock;
  for (std::size_t row = 0; row < rows; ++row, x += width) {
    for (std::size_t block = 0; block < whole; ++block, out += kFixedBlock)
      *scales++ = ToFixedBlock(x + block * kFixedBlock, out);
    if (rest == 0) continue;
    std::array<float, kFixedBlock> last{};
    std::copy_n(x + whole * kFixedBlock, rest, last.data());
    *scales++ = ToFixedBlock(last.data(), out);
    out += kFixedBlock;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace casemate::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace casemate::kernels {

namespace {

/// Where the weight from input `i` to output `o` lies.
std::size_t value_at(const FixedWeights& weights, std::size_t o, std::size_t i) {
  const std::size_t pair = (o / kFixedPanel * weights.blocks * kFixedBlock + i) / 2;
  return (pair * kFixedPanel + o % kFixedPanel) * 2 + i % 2;
}

std::size_t scale_at(const FixedWeights& weights, std::size_t o, std::size_t block) {
  return (o / kFixedPanel * weights.blocks + block) * kFixedPanel + o % kFixedPanel;
}

}  // namespace

HWY_EXPORT(ToFixedRows);

void to_fixed_rows(const float* x, std::size_t rows, std::size_t width, FixedRows& fixed) {
  const std::size_t blocks = (width + kFixedBlock - 1) / kFixedBlock;
  // Never smaller: resizing would clear what is about to be written.
  if (fixed.values.size() < rows * blocks * kFixedBlock) fixed.values.resize(rows * blocks * kFixedBlock);
  if (fixed.scales.size() < rows * blocks) fixed.scales.resize(rows * blocks);
  HWY_DYNAMIC_DISPATCH(ToFixedRows)(x, rows, width, fixed.values.data(), fixed.scales.data());
}

FixedWeights to_fixed_weights(std::span<const float> weights, std::span<const float> bias, std::size_t in,
                              std::size_t out) {
  FixedRows columns;
  to_fixed_rows(weights.data(), out, in, columns);
  FixedWeights fixed;
  fixed.in = in;
  fixed.out = out;
  fixed.blocks = (in + kFixedBlock - 1) / kFixedBlock;
  const std::size_t panels = (out + kFixedPanel - 1) / kFixedPanel;
  fixed.values.resize(panels * fixed.blocks * kFixedBlock * kFixedPanel);
  fixed.scales.resize(panels * fixed.blocks * kFixedPanel);
  fixed.bias.resize(panels * kFixedPanel);
  std::copy(bias.begin(), bias.end(), fixed.bias.begin());
  const std::size_t padded = fixed.blocks * kFixedBlock;
  for (std::size_t o = 0; o < out; ++o) {
    for (std::size_t i = 0; i < padded; ++i) fixed.values[value_at(fixed, o, i)] = columns.values[o * padded + i];
    for (std::size_t block = 0; block < fixed.blocks; ++block)
      fixed.scales[scale_at(fixed, o, block)] = columns.scales[o * fixed.blocks + block];
  }
  return fixed;
}

void transpose_fixed_weights(const FixedWeights& weights, std::span<float> out) {
  for (std::size_t o = 0; o < weights.out; ++o) {
    for (std::size_t i = 0; i < weights.in; ++i) {
      const auto value = static_cast<float>(weights.values[value_at(weights, o, i)]);
      out[i * weights.out + o] = value * weights.scales[scale_at(weights, o, i / kFixedBlock)];
    }
  }
}

}  // namespace casemate::kernels
#endif
