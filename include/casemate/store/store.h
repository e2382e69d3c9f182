// casemate/store/store.h
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/clock.h"
#include "casemate/core/file_system.h"
#include "casemate/core/status.h"
#include "casemate/store/document.h"
#include "casemate/store/encoder_identity.h"
#include "casemate/store/vector_snapshot.h"

namespace casemate {

/// The newest store format that this library reads and writes.
inline constexpr int kStoreFormatVersion = 1;

struct StoreOptions {
  FileSystem* files = nullptr;   ///< not owned, outlives the store; null: the real one
  std::string sqlite_vfs;        ///< name of a registered SQLite VFS; empty: SQLite's default
  const Clock* clock = nullptr;  ///< not owned, outlives the store; null: the real one
  bool read_only = false;        ///< open for reading only; any number of readers beside one writer
  bool load_vectors =
      true;  ///< verify all segments at open, once; false: on first use too (for commands that only write)
  int busy_timeout_ms = 5000;              ///< how long to wait for SQLite's short internal locks; in [0, 600000]
  std::optional<EncoderIdentity> encoder;  ///< refuse a store whose encoder is another one; unset: any
};

/// What `open` found besides a healthy store.
struct OpenReport {
  std::vector<DamagedSegment> damaged;     ///< not served; index their documents again or restore a backup
  std::vector<std::string> leftovers;      ///< files of interrupted writes, such as "segments/000007.seg.tmp"
  bool leftovers_removed = false;          ///< a writer removes them, a reader only reports them
  std::vector<std::string> unknown_files;  ///< in segments/, not ours, left alone
};

struct StoreStatistics {
  std::int64_t tenants = 0;
  std::int64_t documents = 0;
  std::int64_t chunks = 0;
  std::int64_t segments = 0;
  std::int64_t tombstones = 0;  ///< deleted chunks whose vectors `compact` will reclaim
  std::uint64_t database_bytes = 0;
  std::uint64_t segment_bytes = 0;
};

/// Something that `check` found wrong.
struct CheckProblem {
  std::string file;  ///< "vault.db", "segments/000001.seg"
  std::string what;
};
struct CheckReport {
  std::vector<CheckProblem> problems;
  std::int64_t documents = 0;  ///< examined
  std::int64_t chunks = 0;
  std::int64_t segments = 0;
  [[nodiscard]] bool ok() const { return problems.empty(); }
};

struct CompactReport {
  std::int64_t segments_before = 0;
  std::int64_t segments_after = 0;
  std::int64_t chunks_dropped = 0;
};

/// A chunk found by BM25; higher is better.
struct Bm25Hit {
  ChunkId chunk = 0;
  double score = 0;
};

/// One value of the cache: computed from content, may be dropped at any time.
struct CacheEntry {
  Digest content_hash{};  ///< of the document that it was computed from; deleting that document drops it
  std::string key;        ///< what else it depends on (encoder, mask length, ...); 1 to 1024 bytes
  std::string value;
};

/// The vault: a folder with documents, chunks and vectors, for many tenants (docs/format.md).
///
/// One writer at a time (a second one gets Unavailable), any number of readers, which are never blocked. What a
/// writing call acknowledged survives a kill and a power cut; a call that failed or was interrupted changed nothing.
/// Nothing returns another tenant's rows. Thread-safe: reading calls run concurrently, writing calls one by one.
///
/// Errors of every call: Io, NoSpace, Permission, Corrupt, each with the file's path. Writing calls on a store that
/// was opened read-only: InvalidArgument.
class Store {
 public:
  /// Makes a store in `path` (created if missing; otherwise an empty folder or one where `create` was interrupted)
  /// and opens it for writing. Error: AlreadyExists; InvalidOption.
  [[nodiscard]] static Result<std::unique_ptr<Store>> create(const std::string& path, const EncoderIdentity& encoder,
                                                             const StoreOptions& options = {});
  /// Error: NotFound where there is no store; Mismatch for another encoder (lists the differing fields) or another
  /// format version; Unavailable where another writer has it; Corrupt where vault.db is damaged.
  /// Damaged segments do not fail it: see `open_report`.
  [[nodiscard]] static Result<std::unique_ptr<Store>> open(const std::string& path, const StoreOptions& options = {});
  /// Copies `backup` to the new folder `destination` after verifying every checksum in it. Error: Corrupt, naming the
  /// first problem, before anything is written; AlreadyExists.
  [[nodiscard]] static Status restore(const std::string& backup, const std::string& destination,
                                      const StoreOptions& options = {});
  /// Brings a store of an older format up to date after a backup to `backup_destination`. False: it was up to date
  /// already and nothing was done. Error: Mismatch for a newer format.
  [[nodiscard]] static Result<bool> migrate(const std::string& path, const std::string& backup_destination,
                                            const StoreOptions& options = {});
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  [[nodiscard]] const std::string& path() const noexcept;
  [[nodiscard]] const EncoderIdentity& encoder() const noexcept;
  [[nodiscard]] const OpenReport& open_report() const noexcept;
  [[nodiscard]] bool read_only() const noexcept;

  // Writing. Each call is one transaction and durable when it returns.

  /// One result a document, in order. A later document of the batch replaces an earlier one with the same name.
  [[nodiscard]] Result<std::vector<AddResult>> add_documents(std::span<const NewDocument> documents);
  /// Gives chunks that are there already vectors of a further kind; `chunk_ids` ascend. Error: NotFound for a chunk
  /// that this tenant does not have; InvalidArgument where one has such vectors, or the rows do not fit; Mismatch where
  /// the kind has another shape here.
  [[nodiscard]] Status add_vectors(std::string_view tenant, std::span<const ChunkId> chunk_ids,
                                   const ExtraVectors& vectors);
  /// How many of `ids` existed; the rest is no error. Their text is gone at once, their vectors with `compact`.
  [[nodiscard]] Result<std::int64_t> delete_documents(std::string_view tenant, std::span<const std::string> ids);
  /// Sets the documents' `source_path` and leaves the rest as it is. Ids that are not there are passed over.
  [[nodiscard]] Status set_sources(std::string_view tenant, std::span<const DocumentSource> sources);
  /// Rewrites segments without deleted rows, joins small ones, and gives unused space back.
  /// Error: Corrupt where a damaged segment still holds live chunks.
  [[nodiscard]] Result<CompactReport> compact();
  /// `tenant` "" is the store itself.
  [[nodiscard]] Status set_setting(std::string_view tenant, std::string_view key, std::string_view value);
  [[nodiscard]] Status write_cache(std::string_view tenant, std::span<const CacheEntry> entries);

  // Reading. Everything but `snapshot` shows the latest commit of any process.

  /// Picks up commits of other processes for `snapshot`. True where there was one.
  [[nodiscard]] Result<bool> refresh();
  /// The vectors of `kind` as of the last `refresh` or own commit; no blocks for an unknown tenant or kind. Rows of
  /// large segments stay in their files unless VectorAccess::kMemory asks for all.
  [[nodiscard]] Result<std::shared_ptr<const VectorSnapshot>> snapshot(std::string_view tenant,
                                                                       std::string_view kind = kPassageVectors,
                                                                       VectorAccess access = VectorAccess::kFile) const;
  /// Kinds of which the tenant has vectors besides the passages' own, in order of name, as of the same moment.
  [[nodiscard]] Result<std::vector<std::string>> vector_kinds(std::string_view tenant) const;
  /// Chunks of the documents that `filter` lets through. Error: Limit for lists of more than 1000 labels.
  [[nodiscard]] Result<std::shared_ptr<const ChunkSet>> select(std::string_view tenant,
                                                               const DocumentFilter& filter) const;
  /// The best `top_k` chunks by BM25 over this tenant's chunks, best first, ties by id; `allowed` (null: all) is
  /// applied inside the query. `query` is cut into words by the index's own rules and never parsed; only its first
  /// 256 different words count. No words: no hits. `top_k` >= 0.
  [[nodiscard]] Result<std::vector<Bm25Hit>> bm25(std::string_view tenant, const UntrustedText& query, int top_k,
                                                  const ChunkSet* allowed = nullptr) const;

  /// True where the document is there with this content, and its vectors are whole: indexing can skip it.
  [[nodiscard]] Result<bool> contains(std::string_view tenant, std::string_view id, const Digest& content_hash) const;
  /// Error: NotFound.
  [[nodiscard]] Result<StoredDocument> document(std::string_view tenant, std::string_view id) const;
  /// At most `limit` documents in order of id, beginning after `after_id` ("": from the start).
  [[nodiscard]] Result<std::vector<StoredDocument>> documents(std::string_view tenant, std::string_view after_id,
                                                              int limit) const;
  /// One result an id, in order: NotFound for deleted ids and those of other tenants, Corrupt for damaged text.
  [[nodiscard]] Result<std::vector<Result<StoredChunk>>> chunks(std::string_view tenant,
                                                                std::span<const ChunkId> ids) const;
  [[nodiscard]] Result<std::vector<std::string>> tenants() const;  ///< in order of name
  [[nodiscard]] Result<std::optional<std::string>> setting(std::string_view tenant, std::string_view key) const;
  /// The value, or nothing where it was never written, was dropped or is damaged.
  [[nodiscard]] Result<std::optional<std::string>> read_cache(std::string_view tenant, const Digest& content_hash,
                                                              std::string_view key) const;
  [[nodiscard]] Result<StoreStatistics> statistics() const;
  /// Reads everything: database structure, each row's and each segment's checksum, and that text, full-text index and
  /// vectors agree.
  [[nodiscard]] Result<CheckReport> check() const;
  /// A consistent copy in the new folder `destination`, also while a writer is at work.
  /// Error: Corrupt, naming a damaged segment; AlreadyExists.
  [[nodiscard]] Status backup(const std::string& destination) const;

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace casemate
