// casemate/retrieve/quantised_vectors.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/thread_pool.h"
#include "casemate/store/vector_snapshot.h"

namespace casemate {

class QuantisedBlock;

struct QuantiseOptions {
  /// Also keep what bounds the norm of a sum of a chunk's rows (4 bytes more a row), for scores that divide by it.
  bool sum_norms = false;
};

/// A snapshot's vectors as 8-bit codes in memory, for scans that look at every chunk and read the float rows only of
/// those that may count. The codes are cut into an upper and a lower half of 4 bits each, so that most chunks are ruled
/// out after reading half a byte a value (docs/retrieval.md has the bound).
///
/// Immutable, thread-safe. Takes about rows * (dimension + 12) bytes a chunk.
class QuantisedVectors {
 public:
  /// Reads every row once. Blocks that `previous` (may be null) has too, by segment file, are taken over, so that a
  /// commit costs what it added. Error: InvalidArgument for more than 64 rows a chunk or differing shapes; what
  /// `VectorSnapshot::read_rows` says; Limit.
  [[nodiscard]] static Result<std::shared_ptr<const QuantisedVectors>> create(
      std::shared_ptr<const VectorSnapshot> snapshot, const QuantiseOptions& options, const ThreadPool& pool,
      const QuantisedVectors* previous = nullptr);
  ~QuantisedVectors();

  [[nodiscard]] const VectorSnapshot& snapshot() const noexcept { return *snapshot_; }
  [[nodiscard]] int rows_per_chunk() const noexcept { return rows_per_chunk_; }  ///< 0 where there are no vectors
  [[nodiscard]] int dimension() const noexcept { return dimension_; }            ///< 0 where there are no vectors
  /// Bytes that the codes and what belongs to them take.
  [[nodiscard]] std::size_t resident_bytes() const noexcept;

  [[nodiscard]] const QuantiseOptions& options() const noexcept { return options_; }

  // For the scans of this library.
  [[nodiscard]] std::span<const std::shared_ptr<const QuantisedBlock>> blocks() const noexcept { return blocks_; }
  /// For block `index`: a bit for each chunk of each group of 16 that is live and in `allowed` (null: all).
  [[nodiscard]] std::vector<std::uint16_t> served(std::size_t index, const ChunkSet* allowed) const;

 private:
  explicit QuantisedVectors(std::shared_ptr<const VectorSnapshot> snapshot) : snapshot_(std::move(snapshot)) {}
  std::shared_ptr<const VectorSnapshot> snapshot_;
  QuantiseOptions options_;
  std::vector<std::shared_ptr<const QuantisedBlock>> blocks_;
  std::vector<std::vector<std::uint16_t>> live_;
  int rows_per_chunk_ = 0;
  int dimension_ = 0;
};

}  // namespace casemate
