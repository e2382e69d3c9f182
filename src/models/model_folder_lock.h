// models/model_folder_lock.h
#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include "casemate/core/progress.h"
#include "casemate/core/status.h"
#include "core/descriptor.h"

namespace casemate {

/// The right to write one model of a store: an advisory lock on `root/.NAME.lock`, given back by the system when the
/// process dies.
class ModelFolderLock {
 public:
  /// Waits for another process or thread, and says so once. Makes `root`. Error: Cancelled, Io, Permission.
  [[nodiscard]] static Result<ModelFolderLock> acquire(const std::string& root, std::string_view name,
                                                       Progress& progress, const std::stop_token& stop);

 private:
  explicit ModelFolderLock(Descriptor fd) : fd_(std::move(fd)) {}
  Descriptor fd_;
};

}  // namespace casemate
