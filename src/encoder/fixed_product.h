// src/encoder/fixed_product.h: matrix products in 16-bit fixed point, exact in 32-bit sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace casemate::kernels {

/// Inputs that share a scale: a block of one row of x, or of one row of W.
///
/// Each block is scaled so that its Euclidean norm stays below sqrt(2^31), rounding included. By Cauchy and Schwarz the
/// sum of products of two blocks, and of any part of them, then fits 32 bits: nothing overflows, whatever the input.
constexpr std::size_t kFixedBlock = 32;
/// Outputs that are computed together: the width of a panel of weights.
constexpr std::size_t kFixedPanel = 32;

/// Rows in fixed point: `values` [rows, blocks * kFixedBlock] with zeros past the width, `scales` [rows, blocks], by
/// which a value is multiplied to get the number again. A block whose squares do not add up to a finite float
/// (a norm above 1.8e19, infinity, NaN) has the scale NaN, one whose norm is below 1e-18 the scale 0.
struct FixedRows {
  std::vector<std::int16_t> values;
  std::vector<float> scales;
};

/// A [out, in] matrix in fixed point: `values` [panels][blocks][kFixedBlock / 2][kFixedPanel][2], `scales`
/// [panels][blocks][kFixedPanel], `bias` [panels][kFixedPanel], zeros past `out` and `in`.
struct FixedWeights {
  std::size_t in = 0;
  std::size_t out = 0;
  std::size_t blocks = 0;
  std::vector<std::int16_t> values;
  std::vector<float> scales;
  std::vector<float> bias;
};

/// `x` is [rows, width], row-major. What `fixed` held is overwritten, its memory reused.
void to_fixed_rows(const float* x, std::size_t rows, std::size_t width, FixedRows& fixed);

/// `weights` is row-major [out, in], `bias` has `out` values.
[[nodiscard]] FixedWeights to_fixed_weights(std::span<const float> weights, std::span<const float> bias, std::size_t in,
                                            std::size_t out);

/// The numbers that `weights` stands for, as `out` [in, out]: W^T.
void transpose_fixed_weights(const FixedWeights& weights, std::span<float> out);

/// y = x W^T + b, or y += that. `y` is [rows, out]. A row of y depends on its row of x alone.
using FixedProduct = void (*)(const FixedRows& x, const FixedWeights& weights, std::size_t rows, bool add, float* y);

struct FixedKernel {
  const char* name;
  bool (*runs_here)();
  FixedProduct multiply;
};

/// Every implementation of this build, fastest first; the last one runs everywhere. All give the same sums; floats may
/// differ in their last bit where one has fused multiply-add.
[[nodiscard]] std::span<const FixedKernel> fixed_kernels() noexcept;
/// The fastest that runs here.
[[nodiscard]] const FixedKernel& fixed_kernel() noexcept;

}  // namespace casemate::kernels
