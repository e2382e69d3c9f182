// testing/scripted_llm.h
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/llm/language_model.h"

namespace casemate::testing {

/// Answers `answer` to every prompt whose text contains `when` (an empty `when` fits all). The first that fits counts.
struct ScriptedAnswer {
  std::string when;
  std::string answer;
};

struct ScriptedLlmOptions {
  std::string name = "scripted";
  /// Token texts, from id `ScriptedLlm::kFirstWord` on; a blank before a word belongs to it (" Paris").
  std::vector<std::string> vocabulary;
  /// 256 tokens for single bytes come after the words, so that any text can be a prompt. Without them, what is not in
  /// the vocabulary becomes the unknown token, and `when` cannot be looked for in it.
  bool byte_fallback = true;
  std::size_t context_tokens = 1U << 16U;
  std::vector<ScriptedAnswer> answers;  ///< used where `distribution` is empty
  double confidence = 0.9;              ///< probability of the scripted token, in (0, 1); the others share the rest
  /// Probabilities [vocabulary_size] of the token after `tokens`, whose text is `text`. They are normalised; zeros are
  /// allowed (their logarithm is minus infinity).
  std::function<std::vector<double>(std::span<const TokenId> tokens, std::string_view text)> distribution;
  /// Attention weight of row on column (column <= row) in a layer; rows are normalised. Empty: uniform.
  std::function<double(std::size_t layer, std::size_t row, std::size_t column)> attention_weight;
  std::size_t layers = 2;
  /// What the model claims to be able to do. Empty: everything.
  std::vector<Feature> features;
};

/// A deterministic language model without a network, for tests: a small vocabulary and a function from tokens to
/// probabilities, or answers by what the prompt contains. Does all that `LanguageModel` can and counts it. The whole
/// prompt goes through the same untrusted-text rules as a real one: text never becomes a special token.
///
/// Grammars are a list of literal answers here: root ::= "yes" | "no".
class ScriptedLlm final : public LanguageModel {
 public:
  static constexpr TokenId kEnd = 0;      ///< "<end>", ends an answer
  static constexpr TokenId kTurn = 1;     ///< "<turn>", between chat messages and before the answer
  static constexpr TokenId kUnknown = 2;  ///< "<unknown>"
  static constexpr TokenId kFirstWord = 3;

  /// Error: InvalidOption (confidence out of range, an empty vocabulary text).
  [[nodiscard]] static Result<std::unique_ptr<ScriptedLlm>> create(ScriptedLlmOptions options);

  const ModelInfo& info() const noexcept override { return info_; }
  Capabilities capabilities() const noexcept override { return capabilities_; }
  Result<Generation> generate(const Prompt& prompt, const GenerateOptions& options, std::stop_token stop = {},
                              const OnText& on_text = {}) override;
  Result<Tokens> tokenize(std::string_view text, SpecialTokens mode) const override;
  Result<PromptTokens> tokenize_prompt(const Prompt& prompt) const override;
  Result<std::string> detokenize(std::span<const TokenId> ids) const override;
  bool is_special(TokenId id) const noexcept override { return id >= 0 && id < kFirstWord; }
  bool is_end_token(TokenId id) const noexcept override { return id == kEnd; }
  Result<Generation> generate_tokens(std::span<const TokenId> prompt, const GenerateOptions& options,
                                     std::stop_token stop = {}, const OnText& on_text = {}) override;
  Result<std::vector<float>> next_token_log_probabilities(std::span<const TokenId> prompt,
                                                          std::stop_token stop = {}) override;
  Result<ContinuationScore> score_continuation(std::span<const TokenId> prompt, std::span<const TokenId> continuation,
                                               std::stop_token stop = {}) override;
  Status attention(std::span<const TokenId> tokens, const AttentionVisitor& visitor,
                   std::stop_token stop = {}) override;
  /// Unlike a real model's, any number of batches may live at once.
  Result<std::unique_ptr<LlmBatch>> start_batch(std::span<const TokenId> prefix,
                                                std::span<const BatchSequence> sequences,
                                                std::stop_token stop = {}) override;
  LlmUsage usage() const override;

  /// Texts of the prompts given to `generate`, `generate_tokens` and batches, in order.
  [[nodiscard]] std::vector<std::string> prompts_seen() const;

 private:
  friend class ScriptedBatch;
  explicit ScriptedLlm(ScriptedLlmOptions options);
  [[nodiscard]] std::string text_of(std::span<const TokenId> ids) const;
  [[nodiscard]] Status check(std::span<const TokenId> tokens) const;
  [[nodiscard]] Result<std::vector<float>> log_probabilities(std::span<const TokenId> tokens) const;
  [[nodiscard]] std::vector<double> scripted(std::span<const TokenId> tokens, std::string_view text) const;
  /// `generate_tokens` without counting.
  [[nodiscard]] Result<Generation> continue_tokens(std::span<const TokenId> prompt, const GenerateOptions& options,
                                                   std::stop_token stop, const OnText& on_text) const;
  [[nodiscard]] Status allow(Feature feature) const;
  void count(std::size_t decoded, std::size_t reused, std::size_t calls);
  void see(std::string prompt);

  ScriptedLlmOptions options_;
  ModelInfo info_;
  Capabilities capabilities_;
  std::vector<std::string> pieces_;
  mutable std::mutex mutex_;
  LlmUsage usage_;
  std::vector<std::string> prompts_;
};

}  // namespace casemate::testing
