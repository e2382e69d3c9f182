#include "connection_pool.h"

#include "failure.h"

namespace casemate {
namespace {

std::unique_ptr<Database> open_and_probe(const Database::Config& config) {
  auto database = Database::open(config);
  database->execute("SELECT 1 FROM sqlite_schema LIMIT 1");  // the file is first touched here
  return database;
}

}  // namespace

ConnectionPool::Lease::~Lease() {
  const std::lock_guard<std::mutex> lock(pool_.mutex_);
  pool_.idle_.push_back(std::move(database_));
}

ConnectionPool::Lease ConnectionPool::borrow() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!idle_.empty()) {
      auto database = std::move(idle_.back());
      idle_.pop_back();
      return {*this, std::move(database)};
    }
  }
  return {*this, open()};
}

std::unique_ptr<Database> ConnectionPool::open() {
  Database::Config config;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    config = config_;
  }
  try {
    return open_and_probe(config);
  } catch (const Failure& failure) {
    // In a folder that we may not write, SQLite cannot make the shared memory of its write-ahead log. Without a log
    // there is nothing to share, and the file alone is the whole database.
    const bool refused = failure.error.code == ErrorCode::kIo || failure.error.code == ErrorCode::kPermission;
    const Result<FileInfo> log = files_.info(config.path + "-wal");
    const bool has_log = log.ok() && log->size > 0;
    if (!may_be_immutable_ || config.immutable || !refused || has_log) throw;
  }
  config.immutable = true;
  auto database = open_and_probe(config);
  const std::lock_guard<std::mutex> lock(mutex_);
  config_.immutable = true;
  return database;
}

}  // namespace casemate
