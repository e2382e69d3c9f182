// How much of each document each key was shown today.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "casemate/core/clock.h"
#include "casemate/core/status.h"

namespace casemate::server {

class SqliteFile;

/// Where it is kept, in the store's folder.
inline constexpr char kDisclosureFile[] = "disclosed.db";
inline constexpr std::size_t kDisclosedCharacters = 1000;

/// How much of each document a key has seen today (UTC), counted in characters; many questions must not add up to a
/// document. Kept in an SQLite file, so that a restart forgets nothing. Thread-safe; several servers may share a file.
class DisclosureBudget {
 public:
  /// `path` is made where it is missing; ":memory:" keeps nothing. `characters` a key, document and day. Error: as
  /// SqliteFile::open.
  [[nodiscard]] static Result<std::unique_ptr<DisclosureBudget>> open(const std::string& path,
                                                                      std::size_t characters = kDisclosedCharacters,
                                                                      const Clock& clock = Clock::system());
  ~DisclosureBudget();

  /// True, and counted, where so much more may be seen. What cannot be counted may not be seen: false, too, where the
  /// file cannot be written or holds a million entries of today.
  [[nodiscard]] bool take(const std::string& key, const std::string& document, std::size_t characters);

 private:
  DisclosureBudget(std::unique_ptr<SqliteFile> file, std::size_t characters, const Clock& clock);
  [[nodiscard]] Result<bool> count(const std::string& key, const std::string& document, std::size_t characters);
  /// Forgets what was seen on days before.
  [[nodiscard]] Status begin_day();

  const std::unique_ptr<SqliteFile> file_;
  const std::size_t characters_;
  const Clock& clock_;
  std::mutex mutex_;
};

}  // namespace casemate::server
