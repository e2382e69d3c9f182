// models/import_model.h
#pragma once

#include <stop_token>
#include <string>

#include "casemate/core/progress.h"
#include "casemate/core/status.h"
#include "casemate/models/model_store.h"

namespace casemate {

/// Copies or links the model at `from` into `root`/`name`; a folder of that name appears only when it is whole. What
/// `ModelStore::import` promises, once the name is checked and the lock is held.
[[nodiscard]] Status import_model(const std::string& root, const std::string& from, const std::string& name,
                                  const ImportOptions& options, Progress& progress, const std::stop_token& stop);

}  // namespace casemate
