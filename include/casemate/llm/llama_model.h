// casemate/llm/llama_model.h
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "casemate/llm/language_model.h"

namespace casemate {

struct LlamaOptions {
  std::string name;             ///< for people; empty: the file's name
  int context_tokens = 4096;    ///< in [256, what the model was trained for]; larger values are cut to that
  int threads = 0;              ///< >= 0; 0 is all cores; never more than the cores this process may use
  int chunk_tokens = 256;       ///< in [64, 2048]; prompt tokens computed at once
  int max_sequences = 64;       ///< in [1, 254]; most sequences of all batches at once
  bool use_mmap = true;         ///< map the file instead of reading it
  bool check_tensors = false;   ///< look for NaN and infinities in the weights when loading (reads all of the file)
  bool hash_file = true;        ///< fill ModelInfo::file_hash (reads all of the file once)
  bool repack_weights = false;  ///< other weight layouts: some quantisations read prompts faster, but a row of a batch
                                ///< then differs from the same row alone
  std::function<void(std::string_view line)> log;  ///< llama.cpp's log lines while this model is used; empty: dropped
  std::string adapter_file;  ///< a LoRA adapter (GGUF) for this model; empty: none. It is part of the model's identity:
                             ///< of ModelInfo's name, its file_hash where there is one, and of sequence states
  float adapter_scale = 1.0F;  ///< how much of it is added; in [-10, 10]; 0 leaves the model as it is
  /// In [1, 2^30]; most cells of all batches at once: (sequences + 2) x the longest one's tokens in steps of 256. A
  /// batch that does not fit waits for others to end, one that never would is refused (Limit). At least four sequences
  /// of context_tokens are allowed in any case. A cell takes some 12 kB (Qwen2.5 0.5B) to 128 kB (8B models).
  int max_cells = 131072;
};

/// Loads a GGUF file for use in this process (llama.cpp). All capabilities.
///
/// Determinism: with the same file, options and processor, a call gives the same bits whatever ran before it and
/// whatever is cached: prompts are computed in pieces whose borders depend on the prompt alone, and a cached piece is
/// only used where it is the very piece that would be computed. Inside a batch, each sequence has its own cells, and
/// its prompt is computed by itself. A batch of several sequences and a single one take different kernels, so their
/// log-probabilities can differ in the last digits; docs/language-models.md has measured values.
///
/// Error: NotFound, Permission, Io; InvalidInput where the file is no GGUF, is cut short or is damaged, or the adapter
/// is for another model, with the path and what is wrong; InvalidOption.
[[nodiscard]] Result<std::unique_ptr<LanguageModel>> load_llama_model(const std::string& path,
                                                                      const LlamaOptions& options = {});

}  // namespace casemate
