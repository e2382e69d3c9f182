#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "casemate/core/file_system.h"
#include "sqlite_database.h"

namespace casemate {

/// Read-only connections to one database, one a concurrent reading call. Thread-safe.
class ConnectionPool {
 public:
  ConnectionPool(FileSystem& files, Database::Config config, bool may_be_immutable)
      : files_(files), config_(std::move(config)), may_be_immutable_(may_be_immutable) {}

  /// A borrowed connection; goes back to the pool at the end of its scope.
  class Lease {
   public:
    Lease(ConnectionPool& pool, std::unique_ptr<Database> database) : pool_(pool), database_(std::move(database)) {}
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Database& operator*() const { return *database_; }
    Database* operator->() const { return database_.get(); }

   private:
    ConnectionPool& pool_;
    std::unique_ptr<Database> database_;
  };
  /// Throws Failure.
  [[nodiscard]] Lease borrow();

 private:
  std::unique_ptr<Database> open();
  FileSystem& files_;
  std::mutex mutex_;
  Database::Config config_;
  bool may_be_immutable_;
  std::vector<std::unique_ptr<Database>> idle_;
};

}  // namespace casemate
