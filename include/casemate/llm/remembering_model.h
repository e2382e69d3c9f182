// casemate/llm/remembering_model.h
#pragma once

#include <cstddef>
#include <memory>

#include "casemate/llm/language_model.h"

namespace casemate {

/// Another model, whose greedy generations are remembered by prompt and options: in an experiment several ways to
/// prepare a context write the same summary or the same fact, and a greedy text does not change. What `on_text` sees is
/// the same as the first time, piece by piece; where it ends a remembered text elsewhere than the first time, the text
/// is computed again. Everything else goes to the model as it is. Not for servers, whose tenants must not share
/// answers. Thread-safe as the model is, which must outlive it; a text that one thread is computing, others wait for,
/// so `on_text` must not ask for the same text.
class RememberingModel final : public LanguageModel {
 public:
  /// At most `most` (>= 1; 0 counts as 1) texts are held; the oldest go first.
  explicit RememberingModel(LanguageModel& model, std::size_t most = 4096);
  ~RememberingModel() override;

  /// Computes texts that will be asked for with these options, together: decoding several at once costs much less than
  /// one after another (`generate_each`). Prompts that are remembered are left out. Error: InvalidArgument for options
  /// that are not greedy, have a grammar or ask for probabilities; what `generate_each` says; nothing is kept then.
  [[nodiscard]] Status prepare(std::span<const Prompt> prompts, const GenerateOptions& options,
                               std::stop_token stop = {});

  /// What the remembered texts that were given so far took when they were computed: whoever measures adds it.
  [[nodiscard]] double saved_seconds() const;

  [[nodiscard]] const ModelInfo& info() const noexcept override { return model_.info(); }
  [[nodiscard]] Capabilities capabilities() const noexcept override { return model_.capabilities(); }
  [[nodiscard]] Result<Generation> generate(const Prompt& prompt, const GenerateOptions& options, std::stop_token stop,
                                            const OnText& on_text) override;
  [[nodiscard]] Result<Tokens> tokenize(std::string_view text, SpecialTokens mode) const override;
  [[nodiscard]] Result<PromptTokens> tokenize_prompt(const Prompt& prompt) const override;
  [[nodiscard]] Result<std::string> detokenize(std::span<const TokenId> ids) const override;
  [[nodiscard]] bool is_special(TokenId id) const noexcept override { return model_.is_special(id); }
  [[nodiscard]] bool is_end_token(TokenId id) const noexcept override { return model_.is_end_token(id); }
  [[nodiscard]] Result<Generation> generate_tokens(std::span<const TokenId> prompt, const GenerateOptions& options,
                                                   std::stop_token stop, const OnText& on_text) override;
  [[nodiscard]] Result<std::vector<float>> next_token_log_probabilities(std::span<const TokenId> prompt,
                                                                        std::stop_token stop) override;
  [[nodiscard]] Result<ContinuationScore> score_continuation(std::span<const TokenId> prompt,
                                                             std::span<const TokenId> continuation,
                                                             std::stop_token stop) override;
  [[nodiscard]] Status attention(std::span<const TokenId> tokens, const AttentionVisitor& visitor,
                                 std::stop_token stop) override;
  [[nodiscard]] Result<Generation> generate_with_attention(std::span<const TokenId> prompt,
                                                           const GenerateOptions& options,
                                                           const AttentionVisitor& visitor,
                                                           std::stop_token stop) override;
  [[nodiscard]] Result<std::unique_ptr<LlmBatch>> start_batch(std::span<const TokenId> prefix,
                                                              std::span<const BatchSequence> sequences,
                                                              std::stop_token stop) override;
  [[nodiscard]] LlmUsage usage() const override { return model_.usage(); }

 private:
  struct Memory;
  LanguageModel& model_;
  std::unique_ptr<Memory> memory_;
};

}  // namespace casemate
