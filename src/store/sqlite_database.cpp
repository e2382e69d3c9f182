#include "sqlite_database.h"

#include <sqlite3.h>

#include "failure.h"
#include "fts_tokenizer.h"
#include "sql_functions.h"

namespace casemate {
namespace {

/// A file: URI of `path`, for the immutable flag, which only a URI can carry.
std::string immutable_uri(const std::string& path) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string uri = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                       c == '.' || c == '-' || c == '_';
    if (plain) {
      uri += c;
      continue;
    }
    uri += '%';
    uri += kDigits[byte >> 4U];
    uri += kDigits[byte & 15U];
  }
  return uri + "?immutable=1";
}

ErrorCode code_of(int extended) {
  switch (extended & 0xFF) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_CONSTRAINT:  // the code never breaks a constraint of an intact database
    case SQLITE_FORMAT:
    case SQLITE_ERROR:  // fixed SQL fails only where the schema is not ours
    case SQLITE_SCHEMA:
    case SQLITE_MISMATCH:
      return ErrorCode::kCorrupt;
    case SQLITE_FULL:
      return ErrorCode::kNoSpace;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return ErrorCode::kPermission;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::kUnavailable;
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return ErrorCode::kLimit;
    default:
      return extended == SQLITE_IOERR_CORRUPTFS ? ErrorCode::kCorrupt : ErrorCode::kIo;
  }
}

}  // namespace

Error sqlite_error(int extended_code, std::string_view message, const std::string& path) {
  return Error{code_of(extended_code),
               path + ": " + std::string(message) + " (SQLite " + std::to_string(extended_code) + ")"};
}

std::unique_ptr<Database> Database::open(const Config& config) {
  std::unique_ptr<Database> database(new Database);  // NOLINT: private constructor
  database->path_ = config.path;
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= config.writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  if (config.create) flags |= SQLITE_OPEN_CREATE;
  if (config.immutable) flags |= SQLITE_OPEN_URI;
  const std::string name = config.immutable ? immutable_uri(config.path) : config.path;
  const int code =
      sqlite3_open_v2(name.c_str(), &database->handle_, flags, config.vfs.empty() ? nullptr : config.vfs.c_str());
  if (database->handle_ == nullptr)
    throw Failure{Error{ErrorCode::kLimit, config.path + ": not enough memory to open the database"}};
  if (code != SQLITE_OK) database->fail(code);
  database->configure(config);
  return database;
}

void Database::configure(const Config& config) {
  // A store may come from a stranger: nothing in its schema may run code or write behind our back.
  for (const int setting : {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
                            SQLITE_DBCONFIG_DQS_DML, SQLITE_DBCONFIG_DQS_DDL}) {
    sqlite3_db_config(handle_, setting, 0, nullptr);
  }
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_limit(handle_, SQLITE_LIMIT_ATTACHED, 1);  // VACUUM needs one
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, 1 << 28);
  sqlite3_limit(handle_, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
  sqlite3_busy_timeout(handle_, config.busy_timeout_ms);
  register_fts_tokenizer(*this);
  register_sql_functions(*this);
  execute("PRAGMA mmap_size=0; PRAGMA cell_size_check=ON;");
  if (config.writable) execute("PRAGMA synchronous=FULL; PRAGMA foreign_keys=OFF; PRAGMA secure_delete=ON;");
}

Database::~Database() { sqlite3_close_v2(handle_); }

void Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

void Database::fail(int code) const {
  const int extended = sqlite3_extended_errcode(handle_);
  const bool same = (extended & 0xFF) == (code & 0xFF);
  throw Failure{sqlite_error(same ? extended : code, same ? sqlite3_errmsg(handle_) : sqlite3_errstr(code), path_)};
}

bool Database::in_transaction() const noexcept { return sqlite3_get_autocommit(handle_) == 0; }

Transaction::Transaction(Database& database, Kind kind) : database_(database) {
  database_.execute(kind == Kind::kWrite ? "BEGIN IMMEDIATE" : "BEGIN");
}
Transaction::~Transaction() {
  // SQLite has rolled back by itself after some errors; a failing ROLLBACK leaves nothing to do.
  if (open_ && database_.in_transaction()) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}
void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace casemate
