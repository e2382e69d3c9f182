// src/retrieve/quantised_scan.h
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "casemate/core/thread_pool.h"
#include "casemate/retrieve/quantised_vectors.h"

namespace casemate {

/// What a scan bounds: for each chunk the sums of scores of `combination` of its rows, all choices of rows.
struct ScanOptions {
  std::size_t combination = 1;  ///< k, in [1, rows a chunk]
  std::size_t wanted = 0;       ///< p
  /// Scores count as at least -clamp and at most clamp.
  float clamp = std::numeric_limits<float>::infinity();
  float rounding = 0;    ///< how far a row's score may be rounded further
  bool by_norm = false;  ///< sums are divided by the norm of the sum of the rows (needs QuantiseOptions::sum_norms)
};

/// A chunk that the bounds do not rule out.
struct ScanCandidate {
  float upper = 0;  ///< no sum of the chunk is above this
  std::uint32_t block = 0;
  std::uint32_t position = 0;  ///< in the block
};

/// For each query the chunks of which some sum may be among the `wanted` largest of its choice of rows, by descending
/// `upper`. Every choice of rows has `wanted` chunks (all, where there are fewer) among them whose sums are at least
/// those of any chunk left out, and strictly larger. `queries` are finite; `served[b]` are the bits of block b.
[[nodiscard]] std::vector<std::vector<ScanCandidate>> quantised_scan(
    const QuantisedVectors& vectors, std::span<const float> queries, const ScanOptions& options,
    const std::vector<std::vector<std::uint16_t>>& served, const ThreadPool& pool);

}  // namespace casemate
