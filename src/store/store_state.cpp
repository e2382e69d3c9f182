#include "store_state.h"

#include <algorithm>
#include <set>

#include "failure.h"
#include "sqlite_statement.h"

namespace casemate {
namespace {

constexpr int kMaxBusyTimeoutMs = 600'000;
constexpr int kRefreshAttempts = 5;

Database::Config database_config(const std::string& path, const StoreOptions& options, bool writable) {
  return {join_path(path, kDatabaseFile), options.sqlite_vfs, writable, false, false, options.busy_timeout_ms};
}

}  // namespace

StoreState::StoreState(std::string path, StoreOptions options, std::unique_ptr<WriterLock> lock)
    : path_(std::move(path)),
      options_(std::move(options)),
      files_(options_.files != nullptr ? options_.files : &FileSystem::posix()),
      lock_(std::move(lock)),
      readers_(*files_, database_config(path_, options_, false), options_.read_only),
      cache_(*files_, path_) {
  if (options_.busy_timeout_ms < 0 || options_.busy_timeout_ms > kMaxBusyTimeoutMs) {
    throw Failure{Error{ErrorCode::kInvalidOption,
                        "busy_timeout_ms is " + std::to_string(options_.busy_timeout_ms) + ", must be in [0, 600000]"}};
  }
  open_database();
  find_leftovers();
  verify_segments();
}

StoreState::~StoreState() = default;

void StoreState::open_database() {
  const Result<FileInfo> database = files_->info(file(kDatabaseFile));
  if (!database && database.error().code == ErrorCode::kNotFound) {
    throw Failure{Error{ErrorCode::kNotFound, path_ + ": no store here (there is no " + kDatabaseFile + ")"}};
  }
  must(database);
  if (!options_.read_only) {
    if (!lock_) lock_ = must(WriterLock::acquire(file(kLockFile)));
    writer_ = Database::open(database_config(path_, options_, true));
  }
  const auto load = [&](Database& connection) {
    const Transaction transaction(connection, Transaction::Kind::kRead);
    require_current_format(connection);
    meta_ = read_meta(connection);
    set_catalog(read_catalog(connection, meta_.store, meta_.encoder_hash));
  };
  if (writer_) {
    load(*writer_);
  } else {
    load(*reader());
  }
  next_segment_ = meta_.next_segment;
  if (!options_.encoder) return;
  const auto found = differences(meta_.encoder, *options_.encoder);
  if (!found.empty()) {
    throw Failure{Error{ErrorCode::kMismatch, path_ + ": the store was made with another encoder: " + describe(found) +
                                                  " (use that encoder, or index into a new store)"}};
  }
}

void StoreState::find_leftovers() {
  const auto names = files_->list(file(kSegmentsFolder));
  if (!names) {
    // Without the folder every segment is missing, which `verify_segments` reports by name.
    if (names.error().code != ErrorCode::kNotFound) throw Failure{names.error()};
    if (!options_.read_only) must(files_->create_directories(file(kSegmentsFolder)));
    return;
  }
  std::set<std::uint64_t> named;
  for (const SegmentRecord& record : catalog_->segments) named.insert(record.header.id);
  for (const std::string& name : *names) {
    bool temporary = false;
    const std::uint64_t id = segment_id_of(name, temporary);
    const std::string relative = std::string(kSegmentsFolder) + "/" + name;
    if (id == 0) {
      report_.unknown_files.push_back(relative);
    } else if (temporary || named.count(id) == 0) {
      report_.leftovers.push_back(relative);
    }
  }
  if (options_.read_only || report_.leftovers.empty()) return;
  for (const std::string& name : report_.leftovers) must(files_->remove(file(name)));
  must(files_->sync_directory(file(kSegmentsFolder)));
  report_.leftovers_removed = true;
}

void StoreState::verify_segments() {
  for (int attempt = 0; attempt < kRefreshAttempts; ++attempt) {
    const auto current = catalog();
    bool missing = false;
    for (const SegmentRecord& record : current->segments) {
      const auto loaded = cache_.load(record, KeepRows::kSmall, options_.load_vectors);
      if (loaded || loaded.error().code == ErrorCode::kCorrupt || loaded.error().code == ErrorCode::kMismatch) continue;
      if (loaded.error().code != ErrorCode::kNotFound) throw Failure{loaded.error()};
      missing = true;
    }
    if (!missing) break;
    // Another process may have compacted meanwhile; where it has not, the file is really gone.
    if (!refresh()) cache_.mark_missing(*catalog());
  }
  const auto current = catalog();
  for (const SegmentRecord& record : current->segments) {
    if (const auto error = cache_.damage(record)) report_.damaged.push_back(describe_damage(record, *error));
  }
}

const Clock& StoreState::clock() const { return options_.clock != nullptr ? *options_.clock : Clock::system(); }

std::shared_ptr<const Catalog> StoreState::catalog() const {
  const std::lock_guard<std::mutex> lock(catalog_mutex_);
  return catalog_;
}

void StoreState::set_catalog(std::shared_ptr<const Catalog> catalog) {
  const std::lock_guard<std::mutex> lock(catalog_mutex_);
  if (catalog_ && catalog_->generation >= catalog->generation) return;
  cache_.keep_only(*catalog);
  snapshots_.clear();
  catalog_ = std::move(catalog);
}

bool StoreState::refresh() {
  const auto connection = reader();
  const Transaction transaction(*connection, Transaction::Kind::kRead);
  const std::int64_t before = catalog()->generation;
  if (read_counter(*connection, "generation") == before) return false;
  set_catalog(read_catalog(*connection, meta_.store, meta_.encoder_hash));
  return true;
}

std::shared_ptr<const VectorSnapshot> StoreState::snapshot(std::string_view tenant, std::string_view kind,
                                                           VectorAccess access) {
  const std::tuple<std::string, std::string, VectorAccess> key(tenant, kind, access);
  for (int attempt = 0;; ++attempt) {
    std::shared_ptr<const Catalog> current;
    {
      const std::lock_guard<std::mutex> lock(catalog_mutex_);
      const auto found = snapshots_.find(key);
      if (found != snapshots_.end()) return found->second;
      current = catalog_;
    }
    auto made = make_snapshot(*current, cache_, tenant, kind, access);
    if (made) {
      const std::lock_guard<std::mutex> lock(catalog_mutex_);
      if (catalog_ == current && !(*made)->blocks().empty()) snapshots_[key] = *made;
      return *made;
    }
    if (made.error().code != ErrorCode::kNotFound || attempt == kRefreshAttempts) throw Failure{made.error()};
    if (!refresh()) cache_.mark_missing(*catalog());
  }
}

ChunkSet StoreState::damaged_chunks(std::string_view tenant) {
  const auto current = catalog();
  std::vector<ChunkRange> ranges;
  for (const SegmentRecord& record : current->segments) {
    if (record.tenant_name == tenant && cache_.damage(record))
      ranges.push_back({record.first_chunk, record.last_chunk + 1});
  }
  return ChunkSet(std::move(ranges));
}

StoreState::Writing::Writing(StoreState& state) : state_(state), lock_(state.write_mutex_) {
  if (!state.writer_)
    throw Failure{Error{ErrorCode::kInvalidArgument, state.path_ + ": the store is open for reading only"}};
}

void StoreState::Writing::commit(Transaction& transaction) {
  write_counter(database(), "generation", read_counter(database(), "generation") + 1);
  write_counter(database(), "next_segment", state_.next_segment_);
  transaction.commit();
  // What follows is a reader's work: the commit stands even if it fails, and the next `refresh` tries again.
  (void)guarded([&] { state_.refresh(); }).ok();
}

WrittenSegments::~WrittenSegments() {
  for (const std::uint64_t id : ids_) (void)state_.files().remove(state_.file(segment_name(id))).ok();
}

void register_segment(Database& database, const SegmentHeader& header, std::int64_t tenant, ChunkId first_chunk,
                      ChunkId last_chunk, const Digest& checksum) {
  Statement statement(
      database,
      "INSERT INTO segment(id, tenant, kind, chunks, rows_per_chunk, dimension, first_chunk, last_chunk, checksum)"
      " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
  statement.bind(1, static_cast<std::int64_t>(header.id)).bind(2, tenant).bind_text(3, header.kind);
  statement.bind(4, static_cast<std::int64_t>(header.chunks)).bind(5, header.rows_per_chunk).bind(6, header.dimension);
  statement.bind(7, first_chunk).bind(8, last_chunk).bind_digest(9, checksum).run();
}

}  // namespace casemate
