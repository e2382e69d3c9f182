// An SQLite file of the server's own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "casemate/core/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace casemate::server {

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const;
};
using SqliteStatement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

/// Used by one thread at a time.
class SqliteFile {
 public:
  /// Opens the file, made where it is missing, with mode 0600, and runs `schema`. ":memory:" is no file. `what` says in
  /// errors what it holds ("the keys"). Error: Io, Permission, Corrupt, NoSpace, Unavailable, with the path.
  [[nodiscard]] static Result<std::unique_ptr<SqliteFile>> open(const std::string& path, const std::string& what,
                                                                const char* schema);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  /// What went wrong just now: "PATH: cannot DOING: ...".
  [[nodiscard]] Error failure(std::string_view doing) const;
  /// Error: as `failure`.
  [[nodiscard]] Result<SqliteStatement> prepare(const std::string& sql) const;
  /// Fixed SQL without values. Error: as `failure`.
  [[nodiscard]] Status execute(const char* sql) const;
  [[nodiscard]] sqlite3* handle() const noexcept { return handle_; }

  static void bind(const SqliteStatement& statement, int at, std::string_view text);
  static void bind(const SqliteStatement& statement, int at, std::int64_t value);

 private:
  SqliteFile(std::string path, std::string what) : path_(std::move(path)), what_(std::move(what)) {}
  std::string path_;
  std::string what_;
  sqlite3* handle_ = nullptr;
};

}  // namespace casemate::server
