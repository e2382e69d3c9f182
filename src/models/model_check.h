// models/model_check.h
#pragma once

#include <stop_token>
#include <string>

#include "casemate/core/progress.h"
#include "casemate/core/status.h"
#include "casemate/models/model_store.h"

namespace casemate {

/// State, detail, remedy and path of `info.entry` in `root`, by names and sizes only.
void inspect_model(const std::string& root, StoredModel& info);

/// Reads every file of `entry` in `root`. Error: Cancelled.
[[nodiscard]] Result<VerifyReport> verify_model(const std::string& root, const ModelEntry& entry, Progress& progress,
                                                const std::stop_token& stop);

}  // namespace casemate
