// casemate/retrieve/dense_index.h
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/thread_pool.h"
#include "casemate/retrieve/quantised_vectors.h"
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

/// How a dense index looks at every chunk. Both find the same chunks with the same scores, bit for bit.
enum class DenseScan : std::uint8_t {
  kInt8,  ///< bounds from 8-bit codes in memory; float rows are read for the few chunks that the bounds do not rule out
  kFloat,  ///< every float row; wants them in memory (VectorAccess::kMemory)
};

/// Exact nearest passages by inner product over one snapshot of a tenant's vectors (one row a chunk).
///
/// Every score is the canonical one of the row kernel, so results do not depend on the scan, threads, blocks or how
/// many queries are asked at once: faster kernels, whose error is bounded, find candidates, and these are scored again.
/// Immutable, thread-safe.
class DenseIndex {
 public:
  /// Reads each row once. `previous` (may be null): the index of an earlier snapshot of the same vectors, whose codes
  /// are taken over. Error: InvalidArgument where a block has several rows a chunk, or rows that are not in memory for
  /// DenseScan::kFloat; what `VectorSnapshot::read_rows` says; Limit.
  [[nodiscard]] static Result<std::unique_ptr<DenseIndex>> create(std::shared_ptr<const VectorSnapshot> snapshot,
                                                                  const ThreadPool& pool,
                                                                  DenseScan scan = DenseScan::kInt8,
                                                                  const DenseIndex* previous = nullptr);

  [[nodiscard]] const VectorSnapshot& snapshot() const noexcept { return *snapshot_; }
  /// The codes; null with DenseScan::kFloat.
  [[nodiscard]] const QuantisedVectors* codes() const noexcept { return codes_.get(); }
  /// The row of `chunk` [d], or empty where the snapshot does not serve it. Error: as `VectorSnapshot::read_rows`.
  [[nodiscard]] Result<std::vector<float>> row(ChunkId chunk) const;

  /// For each row of `queries` [n, dimension] the best `top_k` chunks, best first; fewer where there are fewer. Only
  /// chunks of `allowed` count (null: all), and they are left out before ranking. top_k >= 0.
  /// Error: InvalidArgument for a query that is not finite (names its index), a wrong dimension or a negative top_k;
  /// what `VectorSnapshot::read_rows` says.
  [[nodiscard]] Result<std::vector<std::vector<DenseHit>>> search(std::span<const float> queries, std::size_t dimension,
                                                                  int top_k, const ChunkSet* allowed,
                                                                  const ThreadPool& pool) const;

  /// Whether `search` takes these. Error: InvalidArgument, as there.
  [[nodiscard]] Status check_queries(std::span<const float> queries, std::size_t dimension, int top_k) const;

  /// The best `top_k` of `chunks` (any order, no chunk twice) for one `query` [dimension], scored and ordered as
  /// `search` does; those that the snapshot does not serve are left out. Error: as `search`.
  [[nodiscard]] Result<std::vector<DenseHit>> rescore(std::span<const float> query, std::span<const ChunkId> chunks,
                                                      int top_k) const;

 private:
  struct Place {
    std::size_t block;
    std::size_t position;
  };
  /// Where the row of `chunk` lies; nothing where the snapshot does not serve it.
  [[nodiscard]] std::optional<Place> place_of(ChunkId chunk) const;
  explicit DenseIndex(std::shared_ptr<const VectorSnapshot> snapshot) : snapshot_(std::move(snapshot)) {}
  [[nodiscard]] Result<std::vector<std::vector<DenseHit>>> search_codes(std::span<const float> queries,
                                                                        std::size_t top_k, const ChunkSet* allowed,
                                                                        const ThreadPool& pool) const;
  std::shared_ptr<const VectorSnapshot> snapshot_;
  std::shared_ptr<const QuantisedVectors> codes_;
  std::vector<double> largest_norms_;  ///< by block, for DenseScan::kFloat
};

}  // namespace casemate
