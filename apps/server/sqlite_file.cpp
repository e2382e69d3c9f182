#include "sqlite_file.h"

#include <sqlite3.h>

#include <filesystem>

namespace casemate::server {

void FinalizeStatement::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Result<std::unique_ptr<SqliteFile>> SqliteFile::open(const std::string& path, const std::string& what,
                                                     const char* schema) {
  std::unique_ptr<SqliteFile> file(new SqliteFile(path, what));  // private constructor; owned at once
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(path.c_str(), &file->handle_, flags, nullptr) != SQLITE_OK) return file->failure("open " + what);
  sqlite3_busy_timeout(file->handle_, 2000);
  if (sqlite3_exec(file->handle_, schema, nullptr, nullptr, nullptr) != SQLITE_OK)
    return file->failure("set up " + what);
  std::error_code ignored;
  std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, ignored);
  return file;
}

SqliteFile::~SqliteFile() { sqlite3_close(handle_); }

Error SqliteFile::failure(std::string_view doing) const {
  const int code = sqlite3_errcode(handle_);
  const ErrorCode kind = code == SQLITE_CORRUPT || code == SQLITE_NOTADB  ? ErrorCode::kCorrupt
                         : code == SQLITE_FULL                            ? ErrorCode::kNoSpace
                         : code == SQLITE_READONLY || code == SQLITE_PERM ? ErrorCode::kPermission
                         : code == SQLITE_BUSY                            ? ErrorCode::kUnavailable
                                                                          : ErrorCode::kIo;
  return {kind, path_ + ": cannot " + std::string(doing) + ": " + sqlite3_errmsg(handle_)};
}

Result<SqliteStatement> SqliteFile::prepare(const std::string& sql) const {
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &made, nullptr) != SQLITE_OK) return failure("read " + what_);
  return SqliteStatement(made);
}

Status SqliteFile::execute(const char* sql) const {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failure("write " + what_);
  return {};
}

void SqliteFile::bind(const SqliteStatement& statement, int at, std::string_view text) {
  sqlite3_bind_text(statement.get(), at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

void SqliteFile::bind(const SqliteStatement& statement, int at, std::int64_t value) {
  sqlite3_bind_int64(statement.get(), at, value);
}

}  // namespace casemate::server
