#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "casemate/core/status.h"

struct sqlite3;

namespace casemate {

/// One SQLite connection with this project's settings, tokenizer and functions. Used by one thread at a time.
/// Every call throws Failure; errors name the database file.
class Database {
 public:
  struct Config {
    std::string path;
    std::string vfs;  ///< empty: SQLite's default
    bool writable = false;
    bool create = false;
    bool immutable = false;  ///< nobody writes and the folder is read-only: no locks, no shared memory
    int busy_timeout_ms = 5000;
  };
  static std::unique_ptr<Database> open(const Config& config);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Runs fixed SQL (never with values in it).
  void execute(const std::string& sql);
  [[nodiscard]] sqlite3* handle() const noexcept { return handle_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Throws the Failure that SQLite's result `code` means.
  [[noreturn]] void fail(int code) const;
  [[nodiscard]] bool in_transaction() const noexcept;

 private:
  Database() = default;
  void configure(const Config& config);
  sqlite3* handle_ = nullptr;
  std::string path_;
};

/// The Error that an extended SQLite result code means for the database at `path`.
[[nodiscard]] Error sqlite_error(int extended_code, std::string_view message, const std::string& path);

/// A transaction that rolls back unless committed.
class Transaction {
 public:
  enum class Kind { kRead, kWrite };
  Transaction(Database& database, Kind kind);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace casemate
