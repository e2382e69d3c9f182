// casemate/retrieve/dense_index.h
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/thread_pool.h"
#include "casemate/store/vector_snapshot.h"

namespace casemate {

/// A chunk found by its embedding.
struct DenseHit {
  ChunkId chunk = 0;
  float score = 0;  ///< inner product with the query
  friend bool operator==(const DenseHit&, const DenseHit&) = default;
};

/// True where `a` ranks before `b`: higher score first, equal scores by ascending id.
[[nodiscard]] inline bool ranks_before(const DenseHit& a, const DenseHit& b) noexcept {
  return a.score != b.score ? a.score > b.score : a.chunk < b.chunk;
}

/// Exact nearest passages by inner product over one snapshot of a tenant's vectors (one row a chunk).
///
/// Every score is the canonical one of the row kernel, so results do not depend on threads, blocks or how many queries
/// are asked at once: a batch finds candidates with a faster kernel whose error is bounded, and scores these again.
/// Immutable, thread-safe.
class DenseIndex {
 public:
  /// Reads each row once for its norm. Error: InvalidArgument where a block has several rows a chunk.
  [[nodiscard]] static Result<std::unique_ptr<DenseIndex>> create(std::shared_ptr<const VectorSnapshot> snapshot,
                                                                  const ThreadPool& pool);

  [[nodiscard]] const VectorSnapshot& snapshot() const noexcept { return *snapshot_; }
  /// The row of `chunk` [d], or empty where the snapshot does not serve it.
  [[nodiscard]] std::span<const float> row(ChunkId chunk) const noexcept;

  /// For each row of `queries` [n, dimension] the best `top_k` chunks, best first; fewer where there are fewer. Only
  /// chunks of `allowed` count (null: all), and they are left out before ranking. top_k >= 0.
  /// Error: InvalidArgument for a query that is not finite (names its index), a wrong dimension or a negative top_k.
  [[nodiscard]] Result<std::vector<std::vector<DenseHit>>> search(std::span<const float> queries, std::size_t dimension,
                                                                  int top_k, const ChunkSet* allowed,
                                                                  const ThreadPool& pool) const;

 private:
  explicit DenseIndex(std::shared_ptr<const VectorSnapshot> snapshot) : snapshot_(std::move(snapshot)) {}
  std::shared_ptr<const VectorSnapshot> snapshot_;
  std::vector<double> largest_norms_;  ///< by block
};

}  // namespace casemate
