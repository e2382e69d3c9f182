// src/encoder/model_folder.h
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "casemate/core/status.h"
#include "casemate/encoder/checkpoint.h"
#include "casemate/encoder/encoder.h"
#include "casemate/text/tokenizer.h"
#include "encoder/transformer.h"

namespace casemate {

/// A Hugging Face folder read into memory: what encoder, reader and reranker share.
struct ModelFolder {
  ModelConfig config;
  std::unique_ptr<SafetensorsFile> tensors;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<Transformer> transformer;
  std::string hash;  ///< BLAKE2b-256 hex over weights, configuration and tokenizer files
  std::string name;  ///< the folder's own name
};

/// Error: NotFound, InvalidInput, Mismatch, Unsupported, naming file and field.
[[nodiscard]] Result<ModelFolder> load_model_folder(const std::string& folder,
                                                    Precision precision = Precision::kFloat32);

/// What the folder's sentence-transformers files say; absent where they do not.
struct SentenceSettings {
  std::optional<Pooling> pooling;
  std::optional<bool> normalize;
  std::optional<int> max_tokens;
};
/// Error: InvalidInput where a file is there but broken; Unsupported pooling, by name.
[[nodiscard]] Result<SentenceSettings> read_sentence_settings(const std::string& folder);

/// prefix + tokens (at most `max_tokens` in all) + suffix.
[[nodiscard]] EncodedInput frame(const Tokenizer& tokenizer, const Tokens& tokens, int max_tokens);

}  // namespace casemate
