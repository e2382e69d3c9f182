#include "schema.h"

#include <algorithm>

#include "casemate/store/store.h"
#include "failure.h"
#include "fts_tokenizer.h"
#include "sqlite_statement.h"

namespace casemate {
namespace {

constexpr std::int64_t kApplicationId = 0x43534D54;  // "CSMT"

/// Statements that make the tables; docs/format.md says what each column means.
constexpr const char* kTables[] = {
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE tenant(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE) STRICT",
    "CREATE TABLE document(row INTEGER PRIMARY KEY AUTOINCREMENT, tenant INTEGER NOT NULL, id TEXT NOT NULL,"
    " title BLOB NOT NULL, source BLOB NOT NULL, format BLOB NOT NULL, content_hash BLOB NOT NULL,"
    " attributes_hash BLOB NOT NULL, trusted INTEGER NOT NULL, metadata BLOB NOT NULL, findings BLOB NOT NULL,"
    " ingested_at INTEGER NOT NULL, first_chunk INTEGER NOT NULL, chunk_count INTEGER NOT NULL,"
    " checksum BLOB NOT NULL, UNIQUE(tenant, id)) STRICT",
    "CREATE INDEX document_content ON document(tenant, content_hash)",
    "CREATE INDEX document_chunks ON document(tenant, first_chunk, chunk_count, trusted)",
    "CREATE TABLE label(document INTEGER NOT NULL, label TEXT NOT NULL, PRIMARY KEY(document, label)) STRICT, WITHOUT "
    "ROWID",
    "CREATE TABLE chunk(id INTEGER PRIMARY KEY, document INTEGER NOT NULL, ordinal INTEGER NOT NULL, text BLOB NOT "
    "NULL,"
    " source_begin INTEGER NOT NULL, source_end INTEGER NOT NULL, page INTEGER NOT NULL, line INTEGER NOT NULL,"
    " checksum BLOB NOT NULL) STRICT",
    "CREATE TABLE segment(id INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, kind TEXT NOT NULL, chunks INTEGER NOT NULL,"
    " rows_per_chunk INTEGER NOT NULL, dimension INTEGER NOT NULL, first_chunk INTEGER NOT NULL,"
    " last_chunk INTEGER NOT NULL, checksum BLOB NOT NULL) STRICT",
    "CREATE TABLE tombstone(first_chunk INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, chunk_count INTEGER NOT NULL) "
    "STRICT",
    "CREATE TABLE cache(tenant INTEGER NOT NULL, content_hash BLOB NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,"
    " checksum BLOB NOT NULL, PRIMARY KEY(tenant, content_hash, key)) STRICT",
    "CREATE TABLE setting(tenant INTEGER NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY(tenant, key)) "
    "STRICT, WITHOUT ROWID",
};

/// Migrations from one format to the next; the first entry will take format 1 to format 2.
using Migration = void (*)(Database&);
constexpr std::array<Migration, 0> kMigrations{};
static_assert(kMigrations.size() == kStoreFormatVersion - 1, "each older format needs its migration");

std::int64_t pragma(Database& database, std::string_view sql) {
  Statement statement(database, sql);
  return statement.step() ? statement.integer(0) : 0;
}

void put_meta(Database& database, std::string_view key, std::string_view value) {
  Statement(database, "INSERT INTO meta(key, value) VALUES(?1, ?2)").bind_text(1, key).bind_blob(2, value).run();
}

std::string get_meta(Database& database, std::string_view key) {
  Statement statement(database, "SELECT value FROM meta WHERE key = ?1");
  statement.bind_text(1, key);
  if (!statement.step())
    throw Failure{Error{ErrorCode::kCorrupt, database.path() + ": the entry \"" + std::string(key) + "\" is missing"}};
  return statement.bytes(0);
}

template <typename Bytes>
std::string_view view(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void create_schema(Database& database, const StoreId& store, const EncoderIdentity& encoder) {
  database.execute("PRAGMA journal_mode=WAL");
  Transaction transaction(database, Transaction::Kind::kWrite);
  for (const char* sql : kTables) database.execute(sql);
  put_meta(database, "store", view(store));
  put_meta(database, "encoder", to_json(encoder));
  put_meta(database, "encoder_hash", view(identity_hash(encoder)));
  for (const char* counter : {"generation", "next_chunk", "next_segment"}) {
    Statement(database, "INSERT INTO meta(key, value) VALUES(?1, 1)").bind_text(1, counter).run();
  }
  database.execute("PRAGMA application_id=" + std::to_string(kApplicationId));
  database.execute("PRAGMA user_version=" + std::to_string(kStoreFormatVersion));
  transaction.commit();
}

int stored_format_version(Database& database) {
  if (pragma(database, "PRAGMA application_id") != kApplicationId) {
    throw Failure{Error{ErrorCode::kCorrupt,
                        database.path() + ": not the database of a Casemate store (restore it from a backup)"}};
  }
  return static_cast<int>(pragma(database, "PRAGMA user_version"));
}

void require_current_format(Database& database) {
  const int version = stored_format_version(database);
  if (version == kStoreFormatVersion) return;
  const std::string found = database.path() + ": store format " + std::to_string(version);
  const std::string ours = std::to_string(kStoreFormatVersion);
  if (version > kStoreFormatVersion)
    throw Failure{
        Error{ErrorCode::kMismatch, found + " is newer than this program's " + ours + ": use a newer Casemate"}};
  if (version < 1) throw Failure{Error{ErrorCode::kCorrupt, found + " does not exist: the file is damaged"}};
  throw Failure{
      Error{ErrorCode::kMismatch, found + " is older than this program's " + ours + ": run `casemate migrate`"}};
}

StoreMeta read_meta(Database& database) {
  StoreMeta meta;
  const std::string store = get_meta(database, "store");
  if (store.size() != meta.store.size())
    throw Failure{Error{ErrorCode::kCorrupt, database.path() + ": the store's id is damaged"}};
  std::copy(store.begin(), store.end(), reinterpret_cast<char*>(meta.store.data()));
  const std::string encoder = get_meta(database, "encoder");
  meta.encoder_hash = blake2b(encoder);
  if (get_meta(database, "encoder_hash") != view(meta.encoder_hash))
    throw Failure{Error{ErrorCode::kCorrupt, database.path() + ": the encoder identity is damaged"}};
  auto identity = encoder_identity_from_json(encoder);
  if (!identity) throw Failure{Error{ErrorCode::kCorrupt, database.path() + ": " + identity.error().message}};
  meta.encoder = std::move(*identity);
  meta.generation = read_counter(database, "generation");
  meta.next_chunk = read_counter(database, "next_chunk");
  meta.next_segment = read_counter(database, "next_segment");
  return meta;
}

std::int64_t read_counter(Database& database, std::string_view key) {
  Statement statement(database, "SELECT value FROM meta WHERE key = ?1 AND typeof(value) = 'integer' AND value > 0");
  statement.bind_text(1, key);
  if (!statement.step())
    throw Failure{Error{ErrorCode::kCorrupt,
                        database.path() + ": the counter \"" + std::string(key) + "\" is missing or damaged"}};
  return statement.integer(0);
}

void write_counter(Database& database, std::string_view key, std::int64_t value) {
  Statement(database, "UPDATE meta SET value = ?2 WHERE key = ?1").bind_text(1, key).bind(2, value).run();
}

void migrate_schema(Database& database, int from) {
  Transaction transaction(database, Transaction::Kind::kWrite);
  for (std::size_t i = static_cast<std::size_t>(std::max(from, 1)) - 1; i < kMigrations.size(); ++i)
    kMigrations[i](database);
  database.execute("PRAGMA user_version=" + std::to_string(kStoreFormatVersion));
  transaction.commit();
}

std::string fts_table(std::int64_t tenant) { return "fts_" + std::to_string(tenant); }

void create_fts_table(Database& database, std::int64_t tenant) {
  // Contentless: the text is in `chunk` already. One table a tenant, since bm25() uses table-wide statistics.
  database.execute("CREATE VIRTUAL TABLE " + fts_table(tenant) + " USING fts5(text, content='', tokenize='" +
                   kFtsTokenizer + "')");
}

}  // namespace casemate
