// casemate/store/vector_snapshot.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/store/document.h"

namespace casemate {

/// Chunk ids [begin, end).
struct ChunkRange {
  ChunkId begin = 0;
  ChunkId end = 0;
  friend bool operator==(const ChunkRange&, const ChunkRange&) = default;
};

/// An immutable set of chunk ids, kept as sorted ranges. Thread-safe.
class ChunkSet {
 public:
  ChunkSet() = default;
  /// `ranges` in any order; touching and overlapping ones are joined, empty ones dropped.
  explicit ChunkSet(std::vector<ChunkRange> ranges);

  [[nodiscard]] bool contains(ChunkId id) const noexcept;
  /// True where any id of `range` is in the set.
  [[nodiscard]] bool intersects(ChunkRange range) const noexcept;
  [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] const std::vector<ChunkRange>& ranges() const noexcept { return ranges_; }
  [[nodiscard]] std::vector<ChunkId> ids() const;  ///< ascending

 private:
  std::vector<ChunkRange> ranges_;
};

/// Where the rows of a snapshot lie.
enum class VectorAccess : std::uint8_t {
  kFile,    ///< in the segment files, for `read_rows`; small segments and what was read before are in memory
  kMemory,  ///< in memory, as `VectorBlock::rows`
};

/// Vectors of one segment file. The spans live as long as the snapshot that they came from.
struct VectorBlock {
  std::string file;        ///< "segments/000001.seg"
  std::size_t chunks = 0;  ///< n
  int rows_per_chunk = 1;  ///< r
  int dimension = 0;       ///< d
  /// [n * r, d] row-major, 64-byte aligned; chunk i has rows i*r ... i*r + r-1. Empty where they lie in the file alone
  /// (with VectorAccess::kFile, for large segments).
  std::span<const float> rows;
  std::span<const ChunkId> chunk_ids;  ///< [n] strictly ascending
  std::span<const std::uint8_t> live;  ///< [n] 1: serve it, 0: deleted
};

/// A segment that failed its checks and is not served.
struct DamagedSegment {
  std::string file;    ///< "segments/000001.seg"
  std::string reason;  ///< "the checksum does not match"
  std::string tenant;
  std::string kind;
  ChunkId first_chunk = 0;  ///< chunks that it held lie in [first_chunk, last_chunk]
  ChunkId last_chunk = 0;
};

/// All vectors of one kind of one tenant, as of one commit. Immutable and thread-safe; stays valid while held, also
/// while a writer adds, deletes or compacts, and after the store is closed.
class VectorSnapshot {
 public:
  struct Data;
  explicit VectorSnapshot(std::shared_ptr<const Data> data);
  ~VectorSnapshot();

  /// In order of their first chunk. Ids ascend inside a block; blocks of vectors that were added later may interleave.
  [[nodiscard]] std::span<const VectorBlock> blocks() const noexcept;
  /// Chunks that are live.
  [[nodiscard]] std::size_t live_chunks() const noexcept;
  /// Copies the rows of chunks [first, first + count) of block `index` to `out` [count * r, d], from memory or by
  /// position from the file, whose bytes must be those that were verified when it was opened. No limit on threads.
  /// Error: InvalidArgument for chunks that are not there; Corrupt where the file was cut or changed since; Io.
  [[nodiscard]] Status read_rows(std::size_t index, std::size_t first, std::size_t count, std::span<float> out) const;
  /// Number of the commit that this shows.
  [[nodiscard]] std::int64_t generation() const noexcept;
  /// Segments of this tenant and kind that are left out because they are damaged: results without them are incomplete.
  [[nodiscard]] std::span<const DamagedSegment> damaged() const noexcept;
  /// For block `index`: [n] 1 where the chunk is live and in `allowed`.
  [[nodiscard]] std::vector<std::uint8_t> mask(std::size_t index, const ChunkSet& allowed) const;

 private:
  std::shared_ptr<const Data> data_;
};

}  // namespace casemate
