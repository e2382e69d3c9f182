#include "text/maxout_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "text/maxout_kernel.cpp"  // Highway compiles this file once for each instruction set
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway asks.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace casemate::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;
constexpr std::size_t kLanes = hn::MaxLanes(D());

template <std::size_t kRows>
HWY_INLINE void MaxoutRows(const float* in, std::size_t stride, std::size_t inputs, const float* weights,
                           const float* bias, float* out) {
  const D tag;
  for (std::size_t unit = 0; unit < kMaxoutWidth; unit += kLanes) {
    V sum[kRows][kMaxoutPieces];
    for (auto& row : sum) {
      for (V& piece : row) piece = hn::Zero(tag);
    }
    const float* weight = weights + unit;
    for (std::size_t i = 0; i < inputs; ++i, weight += kMaxoutOutputs) {
      for (std::size_t p = 0; p < kMaxoutPieces; ++p) {
        const V w = hn::LoadU(tag, weight + p * kMaxoutWidth);
        // No MulAdd: it rounds once on some machines and twice on others.
        for (std::size_t r = 0; r < kRows; ++r)
          sum[r][p] = hn::Add(sum[r][p], hn::Mul(hn::Set(tag, in[r * stride + i]), w));
      }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      V best = hn::Add(sum[r][0], hn::LoadU(tag, bias + unit));
      for (std::size_t p = 1; p < kMaxoutPieces; ++p)
        best = hn::Max(best, hn::Add(sum[r][p], hn::LoadU(tag, bias + p * kMaxoutWidth + unit)));
      hn::StoreU(best, tag, out + r * kMaxoutWidth + unit);
    }
  }
}

void Maxout(const float* in, std::size_t stride, std::size_t inputs, std::size_t rows, const float* weights,
            const float* bias, float* out) {
  constexpr std::size_t kAtOnce = 4;
  std::size_t row = 0;
  for (; row + kAtOnce <= rows; row += kAtOnce)
    MaxoutRows<kAtOnce>(in + row * stride, stride, inputs, weights, bias, out + row * kMaxoutWidth);
  for (; row < rows; ++row) MaxoutRows<1>(in + row * stride, stride, inputs, weights, bias, out + row * kMaxoutWidth);
}

}  // namespace HWY_NAMESPACE
}  // namespace casemate::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace casemate::kernels {

HWY_EXPORT(Maxout);

void maxout(const float* in, std::size_t stride, std::size_t inputs, std::size_t rows, const float* weights,
            const float* bias, float* out) {
  HWY_DYNAMIC_DISPATCH(Maxout)(in, stride, inputs, rows, weights, bias, out);
}

}  // namespace casemate::kernels
#endif
