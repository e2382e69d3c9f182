// A LoRA adapter over a loaded model.
#pragma once

#include <llama.h>

#include <string>

#include "casemate/core/status.h"
#include "casemate/llm/llama_model.h"

namespace casemate::llm {

struct LoadedAdapter {
  llama_adapter_lora* adapter = nullptr;  ///< the model's: it goes with it
  std::string hash;                       ///< BLAKE2b-256 hex over the file and the scale
};

/// Loads `options.adapter_file` for `model`. Error: as load_llama_model, with the adapter's path.
[[nodiscard]] Result<LoadedAdapter> load_adapter(llama_model* model, const LlamaOptions& options);

}  // namespace casemate::llm
