#pragma once

#include <memory>
#include <string>

#include "casemate/core/status.h"

namespace casemate {

/// The right to write a store: an advisory lock on `vault.lock`, given back by the system when the process dies.
class WriterLock {
 public:
  /// Error: Unavailable where another writer, of this or another process, has it.
  [[nodiscard]] static Result<std::unique_ptr<WriterLock>> acquire(const std::string& path);
  ~WriterLock();
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  explicit WriterLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace casemate
