// models/local_model.h
#pragma once

#include <string>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/models/model_store.h"

namespace casemate {

/// A model on disk that may be imported.
struct LocalModel {
  std::string folder;              ///< where the files lie
  std::vector<std::string> files;  ///< paths below it
  ModelPurpose purpose = ModelPurpose::kEncoder;
  std::string architecture;  ///< "BertModel", "GGUF version 3"
  ModelOverrides overrides;  ///< what its sentence-transformers configuration says of prefixes
};

/// Looks at a Hugging Face folder or a .gguf file: are the files there, is it a kind we can run, do the heads of its
/// weights make sense. Weights are not read through.
/// Error: NotFound, Unsupported, InvalidInput; each names the file and what to do.
[[nodiscard]] Result<LocalModel> inspect_local_model(const std::string& from);

}  // namespace casemate
