// casemate/generate/vanilla.h
#pragma once

#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/llm/language_model.h"

namespace casemate {

/// A passage as it goes into a prompt.
struct PromptPassage {
  UntrustedText title;
  UntrustedText text;
};

struct VanillaOptions {
  int max_new_tokens = 256;  ///< longest answer in model tokens; >= 1
  std::string rule{};        ///< written by the program, goes behind the instruction; empty: none
  UntrustedText style{};  ///< how the operator wants answers worded, within what the instruction allows; empty: no wish
};

struct VanillaAnswer {
  UntrustedText text;
  std::size_t passages_used = 0;   ///< the first so many stood in the prompt
  std::vector<std::size_t> cited;  ///< numbers (from 1, ascending) that the answer gives in square brackets
  FinishReason finish = FinishReason::kEnd;
  std::size_t prompt_tokens = 0;
  std::size_t generated_tokens = 0;
  std::vector<NeutralisedString> neutralised;  ///< special strings that were made harmless for a remote model
};

/// The undefended way to answer, which every defence is compared with: all passages in one prompt, a blank line between
/// them, greedy decoding. Passages and question are tokenised as text. Passages that do not fit beside the answer in
/// the model's context are left out from the end. Error: InvalidArgument without passages; Limit where not even one
/// passage fits; what the model says; Cancelled.
[[nodiscard]] Result<VanillaAnswer> answer_vanilla(LanguageModel& model, const UntrustedText& question,
                                                   std::span<const PromptPassage> passages,
                                                   const VanillaOptions& options, const OnText& on_text = {},
                                                   std::stop_token stop = {});

/// The prompt of `answer_vanilla`.
[[nodiscard]] Prompt vanilla_prompt(const UntrustedText& question, std::span<const PromptPassage> passages,
                                    std::string_view rule = {}, const UntrustedText& style = {});

/// Numbers in 1 to `most` that stand in square brackets in `text`: "[2]", "[1, 3]". Ascending, without repeats.
[[nodiscard]] std::vector<std::size_t> cited_numbers(std::string_view text, std::size_t most);

}  // namespace casemate
