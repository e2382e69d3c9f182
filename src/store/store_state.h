#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "casemate/store/store.h"
#include "catalog.h"
#include "connection_pool.h"
#include "schema.h"
#include "writer_lock.h"

namespace casemate {

/// Names of a store's files, relative to its folder.
inline constexpr char kDatabaseFile[] = "vault.db";
inline constexpr char kLockFile[] = "vault.lock";
inline constexpr char kSegmentsFolder[] = "segments";
/// Name of the database while a store is being made: a folder without `vault.db` is no store yet.
inline constexpr char kUnfinishedDatabaseFile[] = "vault.db.tmp";

/// An open store: what the public calls, each in its own file, work on. Everything throws Failure.
class StoreState {
 public:
  /// Opens; `lock` is taken over where the caller has it already.
  StoreState(std::string path, StoreOptions options, std::unique_ptr<WriterLock> lock);
  ~StoreState();
  StoreState(const StoreState&) = delete;
  StoreState& operator=(const StoreState&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(std::string_view name) const { return join_path(path_, name); }
  [[nodiscard]] const StoreOptions& options() const { return options_; }
  [[nodiscard]] FileSystem& files() const { return *files_; }
  [[nodiscard]] const Clock& clock() const;
  [[nodiscard]] const StoreMeta& meta() const { return meta_; }
  [[nodiscard]] const OpenReport& report() const { return report_; }
  [[nodiscard]] SegmentCache& segments() { return cache_; }

  [[nodiscard]] ConnectionPool::Lease reader() { return readers_.borrow(); }
  [[nodiscard]] std::shared_ptr<const Catalog> catalog() const;
  /// True where there was a new commit.
  bool refresh();
  [[nodiscard]] std::shared_ptr<const VectorSnapshot> snapshot(std::string_view tenant, std::string_view kind,
                                                               VectorAccess access);
  /// Chunks of `tenant` that may lie in damaged segments.
  [[nodiscard]] ChunkSet damaged_chunks(std::string_view tenant);

  /// The right to write, for one call. Throws InvalidArgument where the store is open for reading only.
  class Writing {
   public:
    explicit Writing(StoreState& state);
    [[nodiscard]] Database& database() const { return *state_.writer_; }
    /// An id that no committed segment has; ids of failed writes are not used again while the store is open, since
    /// a failed commit may still turn out to be on the disk.
    [[nodiscard]] std::uint64_t next_segment_id() { return static_cast<std::uint64_t>(state_.next_segment_++); }
    /// Counts the commit and commits.
    void commit(Transaction& transaction);

   private:
    StoreState& state_;
    std::lock_guard<std::mutex> lock_;
  };

 private:
  void open_database();
  void find_leftovers();
  void verify_segments();
  void set_catalog(std::shared_ptr<const Catalog> catalog);

  std::string path_;
  StoreOptions options_;
  FileSystem* files_;
  std::unique_ptr<WriterLock> lock_;
  ConnectionPool readers_;
  std::unique_ptr<Database> writer_;
  std::mutex write_mutex_;
  StoreMeta meta_;
  std::int64_t next_segment_ = 1;
  OpenReport report_;
  SegmentCache cache_;
  mutable std::mutex catalog_mutex_;
  std::shared_ptr<const Catalog> catalog_;
  std::map<std::tuple<std::string, std::string, VectorAccess>, std::shared_ptr<const VectorSnapshot>> snapshots_;
};

/// Removes files on a failing way out: segments that are complete and whose transaction was not tried to commit.
class WrittenSegments {
 public:
  explicit WrittenSegments(StoreState& state) : state_(state) {}
  ~WrittenSegments();
  WrittenSegments(const WrittenSegments&) = delete;
  WrittenSegments& operator=(const WrittenSegments&) = delete;
  void add(std::uint64_t id) { ids_.push_back(id); }
  void keep() { ids_.clear(); }

 private:
  StoreState& state_;
  std::vector<std::uint64_t> ids_;
};

/// Names a segment that was written in the registry. `chunk_ids` ascend.
void register_segment(Database& database, const SegmentHeader& header, std::int64_t tenant, ChunkId first_chunk,
                      ChunkId last_chunk, const Digest& checksum);

}  // namespace casemate
