// apps/casemate/language_model_choice.h
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "casemate/llm/language_model.h"
#include "context.h"

namespace casemate::cli {

/// Which language model answers: a local one by name or file, or a remote one by address.
struct LanguageModelChoice {
  std::string model;
  std::string url;           ///< of an OpenAI-compatible server; empty: a model in this process
  std::string key_variable;  ///< the environment variable that holds its key; empty: no key is sent
  std::string ca_file;
  int context_tokens = 4096;
  std::string adapter;  ///< a LoRA adapter over a model in this process
  double adapter_scale = 1;
};

void add_language_model_options(CLI::App& app, LanguageModelChoice& choice);
[[nodiscard]] Result<std::unique_ptr<LanguageModel>> load_language_model(Context& context,
                                                                         const LanguageModelChoice& choice);

/// A small model that runs in this process, for a sanitizer's keywords. `name` empty: smollm2-135m-instruct-q4_1, or
/// nothing where that is not installed. Error: what finding and loading it say.
[[nodiscard]] Result<std::unique_ptr<LanguageModel>> load_keyword_model(Context& context, const std::string& name);

}  // namespace casemate::cli
