// casemate/encoder/bert_encoder.h
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "casemate/core/thread_pool.h"
#include "casemate/encoder/differentiable_encoder.h"

namespace casemate {

struct BertEncoderOptions {
  std::string name;                ///< shown to people; empty: the folder's name
  std::optional<Pooling> pooling;  ///< default: what the folder's sentence-transformers files say, else mean
  std::optional<bool> normalize;   ///< default: what the folder says (a Normalize module), else true
  int max_tokens = 0;              ///< in [3, model's positions]; 0: what the folder says, else the model's limit
  std::string query_prefix;        ///< put before queries, "query: " for E5
  std::string passage_prefix;      ///< put before passages
  Precision precision = Precision::kFloat32;
};

/// Loads a Hugging Face folder (BERT, RoBERTa, XLM-RoBERTa or DistilBERT in safetensors) as an encoder.
/// The pool must outlive the encoder. Error: what the checkpoint and tokenizer readers say, naming file and field;
/// InvalidOption naming field, value and range.
[[nodiscard]] Result<std::unique_ptr<DifferentiableEncoder>> load_bert_encoder(const std::string& folder,
                                                                               const BertEncoderOptions& options,
                                                                               const ThreadPool& pool);

}  // namespace casemate
