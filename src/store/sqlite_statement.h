#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "casemate/core/hash.h"
#include "sqlite_database.h"

struct sqlite3_stmt;

namespace casemate {

/// A prepared statement. Values enter by `bind` only. Parameters count from 1, columns from 0. Throws Failure.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int index, std::int64_t value);
  Statement& bind_text(int index, std::string_view value);
  Statement& bind_blob(int index, std::string_view value);
  Statement& bind_digest(int index, const Digest& value);
  /// `value` stays the caller's and must outlive the stepping.
  Statement& bind_pointer(int index, const void* value, const char* type);

  /// True: a row is there.
  bool step();
  /// Steps to the end and resets, ready for the next values.
  void run();
  void reset();

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string bytes(int column) const;
  /// Throws Corrupt where the column is not 32 bytes.
  [[nodiscard]] Digest digest(int column) const;

 private:
  void check(int code) const;
  Database& database_;
  sqlite3_stmt* handle_ = nullptr;
};

}  // namespace casemate
