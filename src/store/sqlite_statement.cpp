#include "sqlite_statement.h"

#include <sqlite3.h>

#include <algorithm>

#include "failure.h"

namespace casemate {

Statement::Statement(Database& database, std::string_view sql) : database_(database) {
  check(sqlite3_prepare_v3(database.handle(), sql.data(), static_cast<int>(sql.size()), 0, &handle_, nullptr));
}
Statement::~Statement() { sqlite3_finalize(handle_); }

void Statement::check(int code) const {
  if (code != SQLITE_OK) database_.fail(code);
}

Statement& Statement::bind(int index, std::int64_t value) {
  check(sqlite3_bind_int64(handle_, index, value));
  return *this;
}
Statement& Statement::bind_text(int index, std::string_view value) {
  // A null pointer would bind NULL; an empty text is not that.
  const char* data = value.data() == nullptr ? "" : value.data();
  check(sqlite3_bind_text64(handle_, index, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}
Statement& Statement::bind_blob(int index, std::string_view value) {
  const char* data = value.data() == nullptr ? "" : value.data();
  check(sqlite3_bind_blob64(handle_, index, data, value.size(), SQLITE_TRANSIENT));
  return *this;
}
Statement& Statement::bind_digest(int index, const Digest& value) {
  return bind_blob(index, std::string_view(reinterpret_cast<const char*>(value.data()), value.size()));
}
Statement& Statement::bind_pointer(int index, const void* value, const char* type) {
  // SQLite's signature has no const; sql_functions.cpp reads it as const again.
  check(sqlite3_bind_pointer(handle_, index, const_cast<void*>(value), type, nullptr));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  database_.fail(code);
}
void Statement::run() {
  while (step()) {
  }
  reset();
}
void Statement::reset() {
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }
double Statement::real(int column) const { return sqlite3_column_double(handle_, column); }
std::string Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(handle_, column);
  const int size = sqlite3_column_bytes(handle_, column);
  if (data == nullptr || size <= 0) return {};
  return std::string(static_cast<const char*>(data), static_cast<std::size_t>(size));
}
Digest Statement::digest(int column) const {
  const std::string data = bytes(column);
  Digest digest{};
  if (data.size() != digest.size()) {
    throw Failure{Error{ErrorCode::kCorrupt,
                        database_.path() + ": a hash of " + std::to_string(data.size()) + " bytes, expected 32"}};
  }
  std::copy(data.begin(), data.end(), reinterpret_cast<char*>(digest.data()));
  return digest;
}

}  // namespace casemate
