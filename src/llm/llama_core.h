// What a loaded model and its batches share.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "casemate/core/hash.h"
#include "casemate/llm/llama_model.h"
#include "llm/fixed_prefixes.h"
#include "llm/llama_attention.h"
#include "llm/llama_session.h"
#include "llm/llama_streams.h"
#include "llm/llama_turns.h"
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
  llama_adapter_lora* adapter = nullptr;  ///< the model's own; null: none
  ThreadPoolHandle pool;
  std::optional<LlamaVocabulary> vocabulary;

  LlamaTurns turns;       ///< whoever computes has one: the sessions below and attention's are used with it held
  SequencePlaces places;  ///< of batches

  LlamaTurns main_turns;               ///< held for a whole call that uses `main`; taken before a turn
  AttentionTap tap;                    ///< of `main`
  std::unique_ptr<LlamaSession> main;  ///< one stream, for everything but batches and attention without an answer
  std::vector<TokenId> kept;           ///< tokens computed as a prompt in `main`
  std::string kept_owner;              ///< whose
  FixedPrefixes fixed_prefixes;        ///< of prompts in `main`; with a turn held
  std::optional<LlamaStreams> streams;

  mutable std::mutex usage_mutex;
  LlmUsage usage;

  void count(std::uint64_t decoded, std::uint64_t reused, std::uint64_t calls = 0) {
    const std::lock_guard lock(usage_mutex);
    usage.decoded_tokens += decoded;
    usage.reused_tokens += reused;
    usage.calls += calls;
  }
  [[nodiscard]] Error in_model(const Error& error) const { return error.in(info.name); }
  /// Error: InvalidArgument where there are no tokens or one is outside the vocabulary, Limit where they leave no room
  /// for another one.
  [[nodiscard]] Status check_prompt(std::span<const TokenId> tokens) const;
  [[nodiscard]] Result<std::unique_ptr<LlamaSession>> make_session(int stream_count, int tokens_per_stream,
                                                                   AttentionTap* watched_by = nullptr) const;
  /// Forgets what another owner's prompt left in `main` beyond its first `fixed` tokens, as far as they are those of
  /// `tokens` too. With a turn held.
  void forget_others(std::span<const TokenId> tokens, std::size_t fixed);
  /// Brings `main` to the state after `tokens`, logits of the last one ready. Returns how many came from the cache. The
  /// first `fixed` of them come again before other texts (instructions, examples): their state is kept.
  /// With one of `main_turns` and a turn held.
  [[nodiscard]] Result<std::size_t> prepare(std::span<const TokenId> tokens, const std::stop_token& stop,
                                            std::size_t fixed = 0);
  /// Brings `main` to the state after what a prompt begins with. Returns how many came from the cache.
  [[nodiscard]] Result<std::size_t> begin_prompt(std::span<const TokenId> prefix, const std::stop_token& stop);
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
