#pragma once

#include <cstddef>

namespace casemate::kernels {

inline constexpr std::size_t kMaxoutWidth = 96;
inline constexpr std::size_t kMaxoutPieces = 3;
inline constexpr std::size_t kMaxoutOutputs = kMaxoutWidth * kMaxoutPieces;

/// out[r, u] = max over pieces p of (sum over i of in[r * stride + i] * weights[i, p, u]) + bias[p, u].
/// in: rows of `inputs` values, `stride` apart (rows may overlap); weights: [inputs, 3, 96]; bias: [3, 96];
/// out: [rows, 96]. Each sum runs over i in ascending order with one rounding a product and a sum, so that the result
/// is the same on every machine and for every number of rows.
void maxout(const float* in, std::size_t stride, std::size_t inputs, std::size_t rows, const float* weights,
            const float* bias, float* out);

}  // namespace casemate::kernels
