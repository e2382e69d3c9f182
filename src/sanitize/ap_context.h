// A context cut to what a model holds, and which of its tokens are the context's.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "casemate/sanitize/ap_keywords.h"

namespace casemate::sanitize {

struct FittedContext {
  std::vector<ContextPassage> passages;  ///< the first so many, the last perhaps cut
  bool cut = false;
  Prompt prompt;
  PromptTokens tokens;  ///< of the prompt; empty where the model cannot count
};

/// The longest beginning of the context (whole passages, else sentences of the first) whose prompt leaves room for
/// `reserve` tokens within `limit`; all of it where the model cannot count tokens or `limit` is 0. Error: Limit where
/// the prompt does not fit without any passage; what the model says.
[[nodiscard]] Result<FittedContext> fit_context(
    const LanguageModel& model, std::span<const ContextPassage> passages, std::size_t limit, std::size_t reserve,
    const std::function<Prompt(std::span<const ContextPassage>)>& make_prompt);

/// For each passage the part of the last message that holds its text; -1 where it has none.
[[nodiscard]] std::vector<int> passage_parts(const Prompt& prompt, std::span<const ContextPassage> passages);

}  // namespace casemate::sanitize
