// casemate/llm/generate_each.h
#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "casemate/llm/language_model.h"

namespace casemate {

struct GenerateEachOptions {
  int max_new_tokens = 20;          ///< a prompt; >= 1
  std::vector<std::string> stop{};  ///< generation ends before the first of these; none may be empty
  std::size_t max_sequences = 16;   ///< prompts decoded together; >= 1
};

/// A greedy answer to each prompt by itself: no prompt sees another's text or answer. Where the backend can, prompts
/// run as batches that share their common beginning, which is computed once; else one after another, with the same
/// answers as far as the backend keeps batch and single runs equal (docs/language-models.md).
/// Error: what the model says, naming the prompt's number where it is one prompt's fault; Cancelled.
[[nodiscard]] Result<std::vector<Generation>> generate_each(LanguageModel& model, std::span<const Prompt> prompts,
                                                            const GenerateEachOptions& options,
                                                            std::stop_token stop = {});

/// True where the prompt and an answer of `max_new_tokens` fit the model's context; also where the model cannot count
/// tokens or its context is unknown. Error: what the model says.
[[nodiscard]] Result<bool> prompt_fits(const LanguageModel& model, const Prompt& prompt, int max_new_tokens);

/// How many tokens all sequences have in common at their beginning, at most one less than the shortest has.
[[nodiscard]] std::size_t common_prefix(std::span<const std::vector<TokenId>> sequences);

}  // namespace casemate
