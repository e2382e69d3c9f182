// src/retrieve/float_scan.h
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/thread_pool.h"
#include "casemate/retrieve/dense_index.h"

namespace casemate {

/// NaN (infinity minus infinity) ranks last.
[[nodiscard]] inline float ordered(float score) noexcept {
  return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;
}

/// The largest norm of each block's rows. Error: InvalidArgument where rows are not in memory.
[[nodiscard]] Result<std::vector<double>> largest_norms(const VectorSnapshot& snapshot, const ThreadPool& pool);

/// The exact search over float rows in memory; `norms` as `largest_norms` gives them. Queries are finite, top_k >= 1.
[[nodiscard]] std::vector<std::vector<DenseHit>> float_scan(const VectorSnapshot& snapshot,
                                                            std::span<const double> norms,
                                                            std::span<const float> queries, std::size_t dimension,
                                                            std::size_t top_k, const ChunkSet* allowed,
                                                            const ThreadPool& pool);

}  // namespace casemate
