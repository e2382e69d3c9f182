#include "retrieve/bound_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "retrieve/bound_kernels.cpp"  // Highway compiles this file once for each instruction set
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway asks.
#include <hwy/highway.h>

#include <limits>

HWY_BEFORE_NAMESPACE();
namespace casemate::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;
constexpr std::size_t kLanes = hn::MaxLanes(D());
constexpr std::size_t kChunks = 16;

void ScoreBounds(const BoundTerms& terms, const std::int32_t* high, const std::int32_t* low, const float* scale,
                 const float* error, std::size_t rows, float* upper, float* lower) {
  const D tag;
  const hn::RebindToSigned<D> integers;
  const V infinity = hn::Set(tag, std::numeric_limits<float>::infinity());
  const V clamp = hn::Set(tag, terms.clamp);
  const auto offset = hn::Set(integers, terms.offset);
  for (std::size_t i = 0; i < rows * kChunks; i += kLanes) {
    auto sum = hn::ShiftLeft<4>(hn::LoadU(integers, high + i));
    if (low != nullptr) sum = hn::Add(sum, hn::LoadU(integers, low + i));
    const V code = hn::Sub(hn::ConvertTo(tag, hn::Sub(sum, offset)), hn::Set(tag, terms.half));
    const V weight = hn::Mul(hn::LoadU(tag, scale + i), hn::Set(tag, terms.query_scale));
    const V value = hn::MulAdd(weight, code, hn::Set(tag, terms.base));
    const V margin = hn::MulAdd(hn::LoadU(tag, error + i), hn::Set(tag, terms.query_norm), hn::Set(tag, terms.slack));
    const V above = hn::Add(value, margin);
    hn::StoreU(hn::IfThenElse(hn::Eq(above, above), hn::Max(above, hn::Neg(clamp)), infinity), tag, upper + i);
    if (lower == nullptr) continue;
    const V below = hn::Sub(value, margin);
    hn::StoreU(hn::IfThenElse(hn::Eq(below, below), hn::Min(below, clamp), hn::Neg(infinity)), tag, lower + i);
  }
}

/// Brings the k first of the order to the front, one after another, and adds them up.
template <bool kLargest>
HWY_INLINE void Sums(const float* values, std::size_t rows, std::size_t k, float* out) {
  const D tag;
  for (std::size_t lane = 0; lane < kChunks; lane += kLanes) {
    V sorted[kMaxRows];
    for (std::size_t r = 0; r < rows; ++r) sorted[r] = hn::LoadU(tag, values + r * kChunks + lane);
    V sum = hn::Zero(tag);
    for (std::size_t first = 0; first < k; ++first) {
      if (k < rows) {
        for (std::size_t r = rows - 1; r > first; --r) {
          const V more = hn::Max(sorted[r - 1], sorted[r]);
          const V less = hn::Min(sorted[r - 1], sorted[r]);
          sorted[r - 1] = kLargest ? more : less;
          sorted[r] = kLargest ? less : more;
        }
      }
      sum = hn::Add(sum, sorted[first]);
    }
    hn::StoreU(sum, tag, out + lane);
  }
}

void LargestSums(const float* values, std::size_t rows, std::size_t k, float* out) { Sums<true>(values, rows, k, out); }
void SmallestSums(const float* values, std::size_t rows, std::size_t k, float* out) {
  Sums<false>(values, rows, k, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace casemate::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace casemate::kernels {

HWY_EXPORT(ScoreBounds);
HWY_EXPORT(LargestSums);
HWY_EXPORT(SmallestSums);

void score_bounds(const BoundTerms& terms, const std::int32_t* high, const std::int32_t* low, const float* scale,
                  const float* error, std::size_t rows, float* upper, float* lower) {
  HWY_DYNAMIC_DISPATCH(ScoreBounds)(terms, high, low, scale, error, rows, upper, lower);
}
void largest_sums(const float* values, std::size_t rows, std::size_t k, float* out) {
  HWY_DYNAMIC_DISPATCH(LargestSums)(values, rows, k, out);
}
void smallest_sums(const float* values, std::size_t rows, std::size_t k, float* out) {
  HWY_DYNAMIC_DISPATCH(SmallestSums)(values, rows, k, out);
}

}  // namespace casemate::kernels
#endif  // HWY_ONCE
