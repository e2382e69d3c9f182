#include "backup.h"

#include <sqlite3.h>

#include <algorithm>

#include "failure.h"

namespace casemate {
namespace {

constexpr int kAttempts = 5;
constexpr std::size_t kCopyBytes = std::size_t{1} << 20U;

bool is_leftover_of_creation(const std::string& name) {
  return name == kLockFile || name == kSegmentsFolder || name.starts_with(kUnfinishedDatabaseFile);
}

void copy_file(FileSystem& files, const ReadableFile& from, const std::string& to) {
  auto out = must(files.create(to));
  std::string piece;
  for (std::uint64_t at = 0; at < from.size(); at += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kCopyBytes, from.size() - at)));
    must(from.read(at, piece.size(), piece.data()));
    must(out->append(piece));
  }
  must(out->sync());
  must(out->close());
}

/// Segment files opened for copying: an open file outlives its removal by a compacting writer.
struct OpenSegment {
  const SegmentRecord* record;
  std::unique_ptr<ReadableFile> file;
};

/// Nothing where a file is gone.
std::optional<std::vector<OpenSegment>> open_segments(StoreState& store, const Catalog& catalog) {
  std::vector<OpenSegment> opened;
  for (const SegmentRecord& record : catalog.segments) {
    auto file = store.files().open(store.file(segment_name(record.header.id)));
    if (!file && file.error().code == ErrorCode::kNotFound) return std::nullopt;
    opened.push_back({&record, must(std::move(file))});
  }
  return opened;
}

void copy_segment(StoreState& store, const OpenSegment& segment, const std::string& destination) {
  const std::string name = segment_name(segment.record->header.id);
  copy_file(store.files(), *segment.file, join_path(destination, name));
  // The copy is verified, and thereby the original: a damaged segment is an error here and not a silent loss later.
  const auto loaded =
      load_segment(store.files(), destination, segment.record->header, segment.record->checksum, KeepRows::kSmall);
  if (!loaded)
    throw Failure{Error{loaded.error().code, loaded.error().message + " (copied from " + store.file(name) + ")"}};
}

void copy_database(StoreState& store, Database& source, const std::string& destination) {
  Database::Config config{
      join_path(destination, kUnfinishedDatabaseFile), store.options().sqlite_vfs, true, true, false, 0};
  const auto copy = Database::open(config);
  sqlite3_backup* running = sqlite3_backup_init(copy->handle(), "main", source.handle(), "main");
  if (running == nullptr) copy->fail(sqlite3_errcode(copy->handle()));
  const int stepped = sqlite3_backup_step(running, -1);
  const int finished = sqlite3_backup_finish(running);
  if (finished != SQLITE_OK) copy->fail(finished);
  if (stepped != SQLITE_DONE) copy->fail(stepped);
}

/// True where it was done; false where a segment file vanished under us and another attempt may do.
bool try_backup(StoreState& store, const std::string& destination) {
  const auto connection = store.reader();
  // The transaction holds database and registry at one commit while both are copied.
  const Transaction transaction(*connection, Transaction::Kind::kRead);
  const auto catalog = read_catalog(*connection, store.meta().store, store.meta().encoder_hash);
  const auto segments = open_segments(store, *catalog);
  if (!segments) return false;
  for (const OpenSegment& segment : *segments) copy_segment(store, segment, destination);
  must(store.files().sync_directory(join_path(destination, kSegmentsFolder)));
  copy_database(store, *connection, destination);
  return true;
}

}  // namespace

std::unique_ptr<WriterLock> prepare_new_store(FileSystem& files, const std::string& destination) {
  must(files.create_directories(destination));
  const auto refuse_foreign = [&] {
    for (const std::string& name : must(files.list(destination))) {
      if (name == kDatabaseFile)
        throw Failure{Error{ErrorCode::kAlreadyExists, destination + ": there is a store here already"}};
      if (!is_leftover_of_creation(name))
        throw Failure{Error{ErrorCode::kAlreadyExists, destination + ": the folder is not empty (it has \"" +
                                                           UntrustedText(name).for_log(80) + "\"); name a new one"}};
    }
  };
  refuse_foreign();
  auto lock = must(WriterLock::acquire(join_path(destination, kLockFile)));
  refuse_foreign();  // another process may have finished one before we had the lock
  for (const std::string& name : must(files.list(destination))) {
    if (name.starts_with(kUnfinishedDatabaseFile)) must(files.remove(join_path(destination, name)));
  }
  const std::string segments = join_path(destination, kSegmentsFolder);
  must(files.create_directories(segments));
  for (const std::string& name : must(files.list(segments))) {
    bool temporary = false;
    if (segment_id_of(name, temporary) != 0) must(files.remove(join_path(segments, name)));
  }
  must(files.sync_directory(destination));
  must(files.sync_directory(parent_path(destination)));
  return lock;
}

void publish_database(FileSystem& files, const std::string& folder) {
  must(files.rename(join_path(folder, kUnfinishedDatabaseFile), join_path(folder, kDatabaseFile)));
  must(files.sync_directory(folder));
}

void copy_store_files(FileSystem& files, const std::string& source, const std::string& destination) {
  const auto lock = prepare_new_store(files, destination);
  const std::string segments = join_path(source, kSegmentsFolder);
  for (const std::string& name : must(files.list(segments))) {
    copy_file(files, *must(files.open(join_path(segments, name))),
              join_path(join_path(destination, kSegmentsFolder), name));
  }
  must(files.sync_directory(join_path(destination, kSegmentsFolder)));
  for (const std::string suffix : {"-wal", ""}) {
    auto file = files.open(source + "/" + kDatabaseFile + suffix);
    if (!file && file.error().code == ErrorCode::kNotFound && !suffix.empty()) continue;
    copy_file(files, *must(std::move(file)),
              destination + "/" + (suffix.empty() ? kUnfinishedDatabaseFile : "vault.db-wal"));
  }
  publish_database(files, destination);
}

void backup(StoreState& store, const std::string& destination) {
  const auto lock = prepare_new_store(store.files(), destination);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (!try_backup(store, destination)) continue;
    publish_database(store.files(), destination);
    return;
  }
  throw Failure{Error{ErrorCode::kCorrupt,
                      store.file(kSegmentsFolder) + ": a segment file that vault.db names is missing (run a check)"}};
}

}  // namespace casemate
