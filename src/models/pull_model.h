// models/pull_model.h
#pragma once

#include <stop_token>
#include <string>

#include "casemate/core/progress.h"
#include "casemate/core/status.h"
#include "casemate/models/model_store.h"

namespace casemate {

/// Fetches the files of `entry` into `root`/NAME. What `ModelStore::pull` promises, once the model is found and the
/// lock is held.
[[nodiscard]] Result<PullReport> pull_model(const std::string& root, const ModelEntry& entry,
                                            const PullOptions& options, Progress& progress,
                                            const std::stop_token& stop);

}  // namespace casemate
