#include "casemate/store/store.h"

#include <fcntl.h>
#include <sys/random.h>

#include <cerrno>
#include <set>

#include "add_documents.h"
#include "add_vectors.h"
#include "backup.h"
#include "check.h"
#include "chunk_rows.h"
#include "compact.h"
#include "document_rows.h"
#include "document_rules.h"
#include "failure.h"
#include "row_hasher.h"
#include "search_text.h"
#include "store_state.h"

namespace casemate {

struct Store::State final : StoreState {
  using StoreState::StoreState;
};

namespace {

StoreId random_store_id() {
  StoreId id{};
  if (::getrandom(id.data(), id.size(), 0) != static_cast<ssize_t>(id.size()))
    throw Failure{io_error(errno, "read random bytes", "getrandom")};
  return id;
}

void check_encoder(const EncoderIdentity& encoder) {
  if (encoder.dimension < 1 || encoder.dimension > 65536)
    throw Failure{Error{ErrorCode::kInvalidOption,
                        "encoder dimension is " + std::to_string(encoder.dimension) + ", must be in [1, 65536]"}};
  if (encoder.max_tokens < 1)
    throw Failure{Error{ErrorCode::kInvalidOption,
                        "encoder max_tokens is " + std::to_string(encoder.max_tokens) + ", must be at least 1"}};
  // The JSON that remembers the identity must give the same one back.
  const auto again = encoder_identity_from_json(to_json(encoder));
  if (!again || *again != encoder)
    throw Failure{Error{ErrorCode::kInvalidOption, "the encoder identity has text that is not UTF-8"}};
}

FileSystem& files_of(const StoreOptions& options) {
  return options.files != nullptr ? *options.files : FileSystem::posix();
}

TenantRow tenant_row(Database& database, std::string_view name) {
  return {find_tenant(database, name), std::string(name)};
}

std::string cache_scope(const Digest& content_hash, std::string_view key, std::string_view value,
                        const StoreId& store) {
  const Digest digest = row_hasher(store).add(content_hash).add(key).add(value).finish();
  return std::string(reinterpret_cast<const char*>(digest.data()), digest.size());
}

/// 0 for the store itself.
std::int64_t setting_scope(Database& database, std::string_view tenant, bool add) {
  if (tenant.empty()) return 0;
  if (!add) return find_tenant(database, tenant);
  must(check_tenant_name(tenant));
  return find_or_add_tenant(database, tenant);
}

}  // namespace

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::create(const std::string& path, const EncoderIdentity& encoder,
                                             const StoreOptions& options) {
  return guarded([&] {
    check_encoder(encoder);
    if (options.read_only)
      throw Failure{Error{ErrorCode::kInvalidOption, "read_only is true, must be false to create a store"}};
    FileSystem& files = files_of(options);
    auto lock = prepare_new_store(files, path);
    {
      const auto database = Database::open(
          {join_path(path, kUnfinishedDatabaseFile), options.sqlite_vfs, true, true, false, options.busy_timeout_ms});
      create_schema(*database, random_store_id(), encoder);
      // The log is emptied into the file, which alone gets the final name.
      database->execute("PRAGMA wal_checkpoint(TRUNCATE)");
    }
    publish_database(files, path);
    return std::unique_ptr<Store>(
        new Store(std::make_unique<State>(path, options, std::move(lock))));  // NOLINT: private
  });
}

Result<std::unique_ptr<Store>> Store::open(const std::string& path, const StoreOptions& options) {
  return guarded([&] {
    return std::unique_ptr<Store>(new Store(std::make_unique<State>(path, options, nullptr)));
  });  // NOLINT: private
}

Status Store::restore(const std::string& backup, const std::string& destination, const StoreOptions& options) {
  StoreOptions reading = options;
  reading.read_only = true;
  reading.load_vectors = false;
  const auto source = open(backup, reading);
  if (!source) return source.error();
  const auto report = (*source)->check();
  if (!report) return report.error();
  if (!report->ok()) {
    const CheckProblem& first = report->problems.front();
    return Error{ErrorCode::kCorrupt, join_path(backup, first.file) + ": the backup is damaged: " + first.what};
  }
  return (*source)->backup(destination);
}

Result<bool> Store::migrate(const std::string& path, const std::string& backup_destination,
                            const StoreOptions& options) {
  return guarded([&] {
    const std::string file = join_path(path, kDatabaseFile);
    const Result<FileInfo> info = files_of(options).info(file);
    if (!info) throw Failure{info.error()};
    const auto lock = must(WriterLock::acquire(join_path(path, kLockFile)));
    const auto database = Database::open({file, options.sqlite_vfs, true, false, false, options.busy_timeout_ms});
    const int version = stored_format_version(*database);
    if (version == kStoreFormatVersion) return false;
    if (version > kStoreFormatVersion || version < 1) require_current_format(*database);
    // An older format cannot be opened as a store, so the backup is a plain copy of all files, under the lock.
    copy_store_files(files_of(options), path, backup_destination);
    migrate_schema(*database, version);
    return true;
  });
}

const std::string& Store::path() const noexcept { return state_->path(); }
const EncoderIdentity& Store::encoder() const noexcept { return state_->meta().encoder; }
const OpenReport& Store::open_report() const noexcept { return state_->report(); }
bool Store::read_only() const noexcept { return state_->options().read_only; }

Result<std::vector<AddResult>> Store::add_documents(std::span<const NewDocument> documents) {
  return guarded([&] { return casemate::add_documents(*state_, documents); });
}
Result<std::int64_t> Store::delete_documents(std::string_view tenant, std::span<const std::string> ids) {
  return guarded([&] { return casemate::delete_documents(*state_, tenant, ids); });
}
Status Store::set_sources(std::string_view tenant, std::span<const DocumentSource> sources) {
  return guarded([&] { casemate::set_sources(*state_, tenant, sources); });
}
Result<CompactReport> Store::compact() {
  return guarded([&] { return casemate::compact(*state_); });
}

Status Store::add_vectors(std::string_view tenant, std::span<const ChunkId> chunk_ids, const ExtraVectors& vectors) {
  return guarded([&] { casemate::add_vectors(*state_, tenant, chunk_ids, vectors); });
}

Status Store::set_setting(std::string_view tenant, std::string_view key, std::string_view value) {
  return guarded([&] {
    StoreState::Writing writing(*state_);
    Transaction transaction(writing.database(), Transaction::Kind::kWrite);
    Statement statement(
        writing.database(),
        "INSERT INTO setting(tenant, key, value) VALUES(?1, ?2, ?3) ON CONFLICT DO UPDATE SET value = ?3");
    statement.bind(1, setting_scope(writing.database(), tenant, true)).bind_text(2, key).bind_blob(3, value).run();
    writing.commit(transaction);
  });
}

Status Store::write_cache(std::string_view tenant, std::span<const CacheEntry> entries) {
  return guarded([&] {
    StoreState::Writing writing(*state_);
    Transaction transaction(writing.database(), Transaction::Kind::kWrite);
    must(check_tenant_name(tenant));
    const std::int64_t scope = find_or_add_tenant(writing.database(), tenant);
    Statement statement(writing.database(),
                        "INSERT INTO cache(tenant, content_hash, key, value, checksum) VALUES(?1, ?2, ?3, ?4, ?5)"
                        " ON CONFLICT DO UPDATE SET value = ?4, checksum = ?5");
    for (const CacheEntry& entry : entries) {
      if (entry.key.empty() || entry.key.size() > 1024)
        throw Failure{Error{ErrorCode::kInvalidArgument, "a cache key must have 1 to 1024 bytes"}};
      statement.bind(1, scope).bind_digest(2, entry.content_hash).bind_blob(3, entry.key).bind_blob(4, entry.value);
      statement.bind_blob(5, cache_scope(entry.content_hash, entry.key, entry.value, state_->meta().store)).run();
    }
    writing.commit(transaction);
  });
}

Result<bool> Store::refresh() {
  return guarded([&] { return state_->refresh(); });
}
Result<std::shared_ptr<const VectorSnapshot>> Store::snapshot(std::string_view tenant, std::string_view kind,
                                                              VectorAccess access) const {
  return guarded([&] { return state_->snapshot(tenant, kind, access); });
}
Result<std::vector<std::string>> Store::vector_kinds(std::string_view tenant) const {
  return guarded([&] {
    std::set<std::string> kinds;
    const auto catalog = state_->catalog();
    for (const SegmentRecord& record : catalog->segments) {
      if (record.tenant_name == tenant && record.header.kind != kPassageVectors) kinds.insert(record.header.kind);
    }
    return std::vector<std::string>(kinds.begin(), kinds.end());
  });
}
Result<std::shared_ptr<const ChunkSet>> Store::select(std::string_view tenant, const DocumentFilter& filter) const {
  return guarded([&] {
    const auto connection = state_->reader();
    return std::shared_ptr<const ChunkSet>(std::make_shared<ChunkSet>(select_chunks(*connection, tenant, filter)));
  });
}
Result<std::vector<Bm25Hit>> Store::bm25(std::string_view tenant, const UntrustedText& query, int top_k,
                                         const ChunkSet* allowed) const {
  return guarded([&] {
    const auto connection = state_->reader();
    const Transaction transaction(*connection, Transaction::Kind::kRead);
    return casemate::bm25(*connection, tenant, query, top_k, allowed);
  });
}

Result<bool> Store::contains(std::string_view tenant, std::string_view id, const Digest& content_hash) const {
  return guarded([&] {
    const auto connection = state_->reader();
    const Transaction transaction(*connection, Transaction::Kind::kRead);
    const auto found = find_document(*connection, state_->meta().store, tenant_row(*connection, tenant), id);
    if (!found || found->document.content_hash != content_hash) return false;
    const ChunkRange range{found->document.first_chunk, found->document.first_chunk + found->document.chunk_count};
    return !state_->damaged_chunks(tenant).intersects(range);
  });
}

Result<StoredDocument> Store::document(std::string_view tenant, std::string_view id) const {
  return guarded([&] {
    const auto connection = state_->reader();
    const Transaction transaction(*connection, Transaction::Kind::kRead);
    auto found = find_document(*connection, state_->meta().store, tenant_row(*connection, tenant), id);
    if (!found)
      throw Failure{Error{ErrorCode::kNotFound,
                          "document \"" + UntrustedText(std::string(id)).for_log(80) + "\" does not exist"}};
    return std::move(found->document);
  });
}

Result<std::vector<StoredDocument>> Store::documents(std::string_view tenant, std::string_view after_id,
                                                     int limit) const {
  return guarded([&] {
    const auto connection = state_->reader();
    const Transaction transaction(*connection, Transaction::Kind::kRead);
    if (limit < 0)
      throw Failure{Error{ErrorCode::kInvalidArgument, "limit is " + std::to_string(limit) + ", must be at least 0"}};
    std::vector<StoredDocument> documents;
    for (DocumentRow& row :
         list_documents(*connection, state_->meta().store, tenant_row(*connection, tenant), after_id, limit)) {
      documents.push_back(std::move(row.document));
    }
    return documents;
  });
}

Result<std::vector<Result<StoredChunk>>> Store::chunks(std::string_view tenant, std::span<const ChunkId> ids) const {
  return guarded([&] {
    const auto connection = state_->reader();
    const Transaction transaction(*connection, Transaction::Kind::kRead);
    ChunkReader reader(*connection, state_->meta().store, find_tenant(*connection, tenant));
    std::vector<Result<StoredChunk>> chunks;
    chunks.reserve(ids.size());
    for (const ChunkId id : ids) chunks.push_back(reader.read(id));
    return chunks;
  });
}

Result<std::vector<std::string>> Store::tenants() const {
  return guarded([&] {
    const auto connection = state_->reader();
    std::vector<std::string> names;
    for (TenantRow& row : list_tenants(*connection)) names.push_back(std::move(row.name));
    return names;
  });
}

Result<std::optional<std::string>> Store::setting(std::string_view tenant, std::string_view key) const {
  return guarded([&]() -> std::optional<std::string> {
    const auto connection = state_->reader();
    const std::int64_t scope = setting_scope(*connection, tenant, false);
    if (scope == 0 && !tenant.empty()) return std::nullopt;
    Statement statement(*connection, "SELECT value FROM setting WHERE tenant = ?1 AND key = ?2");
    statement.bind(1, scope).bind_text(2, key);
    if (!statement.step()) return std::nullopt;
    return statement.bytes(0);
  });
}

Result<std::optional<std::string>> Store::read_cache(std::string_view tenant, const Digest& content_hash,
                                                     std::string_view key) const {
  return guarded([&]() -> std::optional<std::string> {
    const auto connection = state_->reader();
    Statement statement(*connection,
                        "SELECT value, checksum FROM cache WHERE tenant = ?1 AND content_hash = ?2 AND key = ?3");
    statement.bind(1, find_tenant(*connection, tenant)).bind_digest(2, content_hash).bind_blob(3, key);
    if (!statement.step()) return std::nullopt;
    std::string value = statement.bytes(0);
    if (statement.bytes(1) != cache_scope(content_hash, key, value, state_->meta().store)) return std::nullopt;
    return value;
  });
}

Result<StoreStatistics> Store::statistics() const {
  return guarded([&] {
    const auto connection = state_->reader();
    const Transaction transaction(*connection, Transaction::Kind::kRead);
    Statement counts(*connection,
                     "SELECT (SELECT count(*) FROM tenant), (SELECT count(*) FROM document), (SELECT "
                     "coalesce(sum(chunk_count), 0) FROM document),"
                     " (SELECT count(*) FROM segment), (SELECT coalesce(sum(chunk_count), 0) FROM tombstone)");
    StoreStatistics found;
    if (!counts.step()) return found;
    found.tenants = counts.integer(0);
    found.documents = counts.integer(1);
    found.chunks = counts.integer(2);
    found.segments = counts.integer(3);
    found.tombstones = counts.integer(4);
    for (const char* name : {"vault.db", "vault.db-wal"}) {
      if (const auto info = state_->files().info(state_->file(name))) found.database_bytes += info->size;
    }
    const auto catalog = read_catalog(*connection, state_->meta().store, state_->meta().encoder_hash);
    for (const SegmentRecord& record : catalog->segments) {
      if (const auto info = state_->files().info(state_->file(segment_name(record.header.id))))
        found.segment_bytes += info->size;
    }
    return found;
  });
}

Result<CheckReport> Store::check() const {
  return guarded([&] { return casemate::check(*state_); });
}
Status Store::backup(const std::string& destination) const {
  return guarded([&] { casemate::backup(*state_, destination); });
}

}  // namespace casemate
