// models/model_record.h
#pragma once

#include <string>

#include "casemate/core/status.h"
#include "casemate/models/model_store.h"

namespace casemate {

inline constexpr const char* kModelRecordName = "casemate-model.json";

/// What casemate-model.json of an imported model holds. docs/models.md has the format.
struct ModelRecord {
  ModelEntry entry;
  std::string created;
  ModelOverrides overrides;
};

[[nodiscard]] std::string write_model_record(const ModelRecord& record);
/// Reads the record in `folder`, whose name must be the record's. Error: NotFound; Corrupt, with file and field.
[[nodiscard]] Result<ModelRecord> read_model_record(const std::string& folder);

}  // namespace casemate
