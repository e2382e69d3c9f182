// casemate/llm/language_model.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/llm/llm_batch.h"
#include "casemate/llm/prompt.h"
#include "casemate/text/tokenizer.h"

namespace casemate {

/// What a backend may or may not be able to do.
enum class Feature : std::uint8_t {
  kTokens,                ///< tokenise, detokenise, and everything that takes token ids
  kGrammar,               ///< output constrained by a GBNF grammar
  kFullLogProbabilities,  ///< the whole next-token distribution
  kTopLogProbabilities,   ///< at least the n most likely tokens of each generated position
  kContinuationLoss,      ///< log-probabilities of a given continuation
  kAttention,             ///< attention weights
  kSharedPrefix,          ///< several sequences over one prefix (LlmBatch)
  kSequenceState,         ///< the state of a processed prompt as bytes
};

[[nodiscard]] std::string_view feature_name(Feature feature) noexcept;  ///< "attention weights"

/// A set of features, asked of the model and never guessed.
class Capabilities {
 public:
  Capabilities() = default;
  Capabilities(std::initializer_list<Feature> features) {
    for (const Feature feature : features) add(feature);
  }
  void add(Feature feature) noexcept { bits_ |= bit(feature); }
  [[nodiscard]] bool has(Feature feature) const noexcept { return (bits_ & bit(feature)) != 0; }
  [[nodiscard]] bool has_attention() const noexcept { return has(Feature::kAttention); }
  [[nodiscard]] bool has_full_logits() const noexcept { return has(Feature::kFullLogProbabilities); }
  [[nodiscard]] bool has_grammar() const noexcept { return has(Feature::kGrammar); }
  [[nodiscard]] bool has_shared_prefix() const noexcept { return has(Feature::kSharedPrefix); }

 private:
  static std::uint32_t bit(Feature feature) noexcept { return 1U << static_cast<unsigned>(feature); }
  std::uint32_t bits_ = 0;
};

struct ModelInfo {
  std::string name;       ///< for people
  std::string backend;    ///< "llama.cpp", "openai", "scripted"
  std::string file_hash;  ///< BLAKE2b-256 hex of the model file; empty where it was not asked for or cannot be known
  std::size_t context_tokens = 0;   ///< most tokens of prompt and answer together; 0: unknown (remote)
  std::size_t vocabulary_size = 0;  ///< 0: unknown (remote)
  std::size_t layers = 0;           ///< 0: unknown
  bool has_chat_template = false;
};

struct GenerateOptions {
  int max_new_tokens = 128;       ///< >= 1
  double temperature = 0;         ///< >= 0; 0 is greedy (ties: lowest id)
  double top_p = 1;               ///< in (0, 1]
  int top_k = 0;                  ///< >= 0; 0 is all
  std::uint64_t seed = 0;         ///< of the sampling stream; same seed, same draws
  std::vector<std::string> stop;  ///< generation ends before the first of these; none may be empty
  std::string grammar;            ///< GBNF with the start symbol "root"; empty is none
  int top_log_probabilities = 0;  ///< in [0, 100]; the likeliest tokens reported for each position
};

/// Error: InvalidOption, naming field, value and range.
[[nodiscard]] Status validate(const GenerateOptions& options);

enum class FinishReason : std::uint8_t { kEnd, kLength, kStopString };
[[nodiscard]] std::string_view finish_reason_name(FinishReason reason) noexcept;  ///< "end", "length", "stop_string"

struct TokenLogProbability {
  TokenId id = -1;  ///< -1 where only the text is known (remote)
  std::string text;
  double log_probability = 0;
};

/// One generated position: its token and, where asked for, the likeliest alternatives. With a remote model these are
/// truncated: `alternatives` lists some of the mass, never all.
struct GeneratedPosition {
  TokenLogProbability chosen;
  std::vector<TokenLogProbability> alternatives;  ///< descending
};

struct Generation {
  UntrustedText text;                        ///< model output is as little to be trusted as what the model read
  std::vector<TokenId> ids;                  ///< generated tokens without the end token; empty for remote models
  std::vector<GeneratedPosition> positions;  ///< filled where options.top_log_probabilities > 0
  FinishReason finish = FinishReason::kEnd;
  std::size_t prompt_tokens = 0;  ///< as the model counted them
  std::size_t cached_tokens = 0;  ///< of these, not computed again
  std::size_t generated_tokens = 0;
  std::vector<NeutralisedString> neutralised;  ///< what a remote backend changed in untrusted text
};

/// Receives text as it is generated: whole code points only, stop strings never. Return false to stop (finish is kEnd).
using OnText = std::function<bool(std::string_view text)>;

struct ContinuationScore {
  std::vector<double> log_probabilities;  ///< one for each token of the continuation
  double loss = 0;                        ///< mean of the negated log-probabilities (nats a token)
};

/// Rows [first_row, first_row + rows) of one layer's attention, averaged over heads.
struct AttentionBlock {
  std::size_t layer = 0;
  std::size_t first_row = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;         ///< first_row + rows; row r has weights up to column first_row + r, zeros after it
  std::span<const float> weights;  ///< row-major [rows, columns], valid during the call; each row sums to 1
};
using AttentionVisitor = std::function<Status(const AttentionBlock&)>;

/// A causal language model.
///
/// Thread-safe: one call computes at a time. Token ids are the model's own. What `capabilities()` lacks
/// gives Unsupported; ask with `require` when configuring. Errors of every call: Unsupported; InvalidArgument (an id
/// outside the vocabulary, an empty prompt); Limit where the prompt leaves no room in the context, with both numbers
/// (an answer that reaches the end of the context ends there, kLength); Model where computing failed; Cancelled after
/// `stop` was requested, at the latest one token later.
class LanguageModel {
 public:
  virtual ~LanguageModel() = default;
  [[nodiscard]] virtual const ModelInfo& info() const noexcept = 0;
  [[nodiscard]] virtual Capabilities capabilities() const noexcept = 0;

  /// Answers `prompt`. `on_text` may be empty.
  [[nodiscard]] virtual Result<Generation> generate(const Prompt& prompt, const GenerateOptions& options,
                                                    std::stop_token stop = {}, const OnText& on_text = {}) = 0;

  /// Ids and byte spans. Text mode for everything untrusted: no special token comes out of it.
  [[nodiscard]] virtual Result<Tokens> tokenize(std::string_view text, SpecialTokens mode) const;
  /// The prompt framed by the chat template, untrusted parts as text.
  [[nodiscard]] virtual Result<PromptTokens> tokenize_prompt(const Prompt& prompt) const;
  /// Text of `ids`; special tokens are left out. May be invalid UTF-8 where ids end inside a character.
  [[nodiscard]] virtual Result<std::string> detokenize(std::span<const TokenId> ids) const;
  [[nodiscard]] virtual bool is_special(TokenId id) const noexcept;    ///< false without kTokens
  [[nodiscard]] virtual bool is_end_token(TokenId id) const noexcept;  ///< ends a generation; false without kTokens

  /// As `generate`, from tokens.
  [[nodiscard]] virtual Result<Generation> generate_tokens(std::span<const TokenId> prompt,
                                                           const GenerateOptions& options, std::stop_token stop = {},
                                                           const OnText& on_text = {});
  /// Natural logarithms, [vocabulary_size], of the distribution after `prompt`.
  [[nodiscard]] virtual Result<std::vector<float>> next_token_log_probabilities(std::span<const TokenId> prompt,
                                                                                std::stop_token stop = {});
  /// How likely `continuation` is after `prompt`; neither may be empty.
  [[nodiscard]] virtual Result<ContinuationScore> score_continuation(std::span<const TokenId> prompt,
                                                                     std::span<const TokenId> continuation,
                                                                     std::stop_token stop = {});
  /// Runs `tokens` and hands over each layer's attention block by block (blocks in row order, layers ascending inside).
  /// Memory is bounded by the block, not by the square of the length. An error from the visitor ends the run.
  [[nodiscard]] virtual Status attention(std::span<const TokenId> tokens, const AttentionVisitor& visitor,
                                         std::stop_token stop = {});
  /// As `generate_tokens`, and hands over the attention of the prompt and of every token of the answer: what
  /// `attention` gives for both together, rows in order (to the last digits: answers are computed a token at a time). A
  /// model in process reads the prompt once for both; others generate first and then run `attention`.
  [[nodiscard]] virtual Result<Generation> generate_with_attention(std::span<const TokenId> prompt,
                                                                   const GenerateOptions& options,
                                                                   const AttentionVisitor& visitor,
                                                                   std::stop_token stop = {});
  /// Several sequences over one prefix; see LlmBatch. A thread has one batch of a model at a time (else Unavailable);
  /// steps of several threads' batches go through the network together. Waits while there is no room for as many
  /// sequences. The model must outlive it. Prefix and suffix together may not be empty.
  [[nodiscard]] virtual Result<std::unique_ptr<LlmBatch>> start_batch(std::span<const TokenId> prefix,
                                                                      std::span<const BatchSequence> sequences,
                                                                      std::stop_token stop = {});
  [[nodiscard]] virtual LlmUsage usage() const;  ///< since construction
};

/// Error: Unsupported, naming the model, `needed_by` and each missing feature.
[[nodiscard]] Status require(const LanguageModel& model, std::initializer_list<Feature> features,
                             std::string_view needed_by);

}  // namespace casemate
