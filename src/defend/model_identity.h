// src/defend/model_identity.h
#pragma once

#include <string>

#include "casemate/llm/language_model.h"

namespace casemate {

/// What values that a language model computed are kept under: its file's hash where it is known, since a model of the
/// same name may be another one.
inline std::string model_identity(const LanguageModel& model) {
  return model.info().file_hash.empty() ? model.info().name : model.info().file_hash.substr(0, 32);
}

}  // namespace casemate
