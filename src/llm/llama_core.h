// What a loaded model and its batches share. Everything below `mutex` is used with it held.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "casemate/core/hash.h"
#include "casemate/llm/llama_model.h"
#include "llm/llama_session.h"
#include "llm/llama_vocabulary.h"

namespace casemate::llm {

struct LlamaCore {
  LlamaOptions options;
  ModelInfo info;
  int threads = 1;
  int context_tokens = 0;
  Digest state_key{};  ///< sequence states of other models are refused by this

  // In this order: contexts go before pool and model.
  LlamaModelHandle model;
  ThreadPoolHandle pool;
  std::optional<LlamaVocabulary> vocabulary;

  mutable std::mutex mutex;
  std::unique_ptr<LlamaSession> main;   ///< one stream, for everything but batches and attention
  std::vector<TokenId> kept;            ///< tokens computed as a prompt in `main`
  std::unique_ptr<LlamaSession> batch;  ///< stream 0 keeps the prefix, stream i + 1 is sequence i
  std::vector<TokenId> base;            ///< tokens computed in stream 0 of `batch`
  bool batch_in_use = false;
  LlmUsage usage;

  [[nodiscard]] Error in_model(const Error& error) const { return error.in(info.name); }
  /// Error: InvalidArgument where there are no tokens or one is outside the vocabulary, Limit where they leave no room
  /// for another one.
  [[nodiscard]] Status check_prompt(std::span<const TokenId> tokens) const;
  [[nodiscard]] Result<std::unique_ptr<LlamaSession>> make_session(int streams, int tokens_per_stream) const;
  /// Brings `main` to the state after `tokens`, logits of the last one ready. Returns how many came from the cache.
  [[nodiscard]] Result<std::size_t> prepare(std::span<const TokenId> tokens, const std::stop_token& stop);
};

/// Starts a batch; see LanguageModel::start_batch.
[[nodiscard]] Result<std::unique_ptr<LlmBatch>> start_llama_batch(const std::shared_ptr<LlamaCore>& core,
                                                                  std::span<const TokenId> prefix,
                                                                  std::span<const BatchSequence> sequences,
                                                                  const std::stop_token& stop);
/// See LanguageModel::attention.
[[nodiscard]] Status run_llama_attention(LlamaCore& core, std::span<const TokenId> tokens,
                                         const AttentionVisitor& visitor, const std::stop_token& stop);

}  // namespace casemate::llm
