// src/retrieve/bound_kernels.h
#pragma once

#include <cstddef>
#include <cstdint>

namespace casemate::kernels {

/// Most rows a chunk that the bounds take.
inline constexpr std::size_t kMaxRows = 64;

/// How the integer sums of one query and one group become bounds of the scores: with I = 16 high + low - offset,
/// value = base + (scale t) (I - half), and the score lies within error * query_norm + slack of it.
struct BoundTerms {
  float base = 0;
  float query_scale = 0;  ///< t
  float half = 0;         ///< half the sum of the query's codes, at the fine level; 0 at the coarse one
  std::int32_t offset = 0;
  float query_norm = 0;  ///< rounded up
  float slack = 0;       ///< what does not depend on the row
  float clamp = 0;       ///< scores count as at least -clamp and at most clamp; may be infinity
};

/// Upper bounds (and, where `lower` is not null, lower bounds) of the scores of 16 chunks with `rows` rows each.
/// `high`, `low` (null: none), `scale`, `error`, `upper`, `lower` are [rows, 16]. A bound that is not a number becomes
/// an infinity that excludes nothing.
void score_bounds(const BoundTerms& terms, const std::int32_t* high, const std::int32_t* low, const float* scale,
                  const float* error, std::size_t rows, float* upper, float* lower);

/// out[c] = sum of the k largest of values[., c]; values [rows, 16] stays as it is.
void largest_sums(const float* values, std::size_t rows, std::size_t k, float* out);
/// out[c] = sum of the k smallest.
void smallest_sums(const float* values, std::size_t rows, std::size_t k, float* out);

}  // namespace casemate::kernels
