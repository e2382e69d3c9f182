#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "casemate/store/vector_snapshot.h"
#include "segment_file.h"
#include "sqlite_database.h"

namespace casemate {

/// One row of the segment registry.
struct SegmentRecord {
  SegmentHeader header;
  std::int64_t tenant = 0;
  std::string tenant_name;
  ChunkId first_chunk = 0;
  ChunkId last_chunk = 0;
  Digest checksum{};
};

/// The segments and tombstones of one commit. Immutable.
struct Catalog {
  std::int64_t generation = 0;
  std::vector<SegmentRecord> segments;          ///< in order of (tenant, kind, first chunk)
  std::map<std::int64_t, ChunkSet> tombstones;  ///< by tenant
  [[nodiscard]] const ChunkSet& tombstones_of(std::int64_t tenant) const;
};

/// Chunks [first, first + count). Throws Corrupt for numbers that no store has.
[[nodiscard]] ChunkRange checked_range(const Database& database, std::int64_t first, std::int64_t count);

/// Reads the catalog in the connection's transaction. Throws Failure.
[[nodiscard]] std::shared_ptr<const Catalog> read_catalog(Database& database, const StoreId& store,
                                                          const Digest& encoder);

/// Segments in memory and the damaged ones, shared by all snapshots. Thread-safe.
class SegmentCache {
 public:
  SegmentCache(FileSystem& files, std::string store) : files_(files), store_(std::move(store)) {}
  /// Loads and verifies, or gives what is known already if that has at least the rows of `rows` in memory. `keep`: it
  /// is remembered. A failure is remembered only where the file itself is bad (Corrupt, Mismatch); anything else may
  /// pass.
  [[nodiscard]] Result<std::shared_ptr<const SegmentData>> load(const SegmentRecord& record, KeepRows rows, bool keep);
  /// What is known to be wrong with the segment.
  [[nodiscard]] std::optional<Error> damage(const SegmentRecord& record);
  /// Remembers as damaged the segments of `catalog`, the latest commit, whose files do not exist.
  void mark_missing(const Catalog& catalog);
  /// Forgets what `catalog` does not name.
  void keep_only(const Catalog& catalog);

 private:
  struct Entry {
    Digest checksum{};
    std::shared_ptr<const SegmentData> data;  ///< null: damaged
    Error error;
  };
  [[nodiscard]] std::size_t open_files() const;
  FileSystem& files_;
  std::string store_;
  std::mutex mutex_;
  std::map<std::uint64_t, Entry> entries_;
};

struct VectorSnapshot::Data {
  std::int64_t generation = 0;
  std::size_t live_chunks = 0;
  std::vector<VectorBlock> blocks;
  std::vector<DamagedSegment> damaged;
  std::vector<std::shared_ptr<const SegmentData>> segments;  ///< what `blocks` point into
  std::vector<std::vector<std::uint8_t>> live;
};

/// Loads the vectors of one tenant and kind. Error: Io; NotFound where a file is gone (the catalog may be old).
[[nodiscard]] Result<std::shared_ptr<const VectorSnapshot>> make_snapshot(const Catalog& catalog, SegmentCache& cache,
                                                                          std::string_view tenant,
                                                                          std::string_view kind, VectorAccess access);
/// One byte for each of `ids` (ascending): 1 where it is not in `tombstones`.
[[nodiscard]] std::vector<std::uint8_t> live_chunks(const std::vector<ChunkId>& ids, const ChunkSet& tombstones);
[[nodiscard]] DamagedSegment describe_damage(const SegmentRecord& record, const Error& error);

}  // namespace casemate
