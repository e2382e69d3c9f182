// The backbone's prompt for a context that fits it, and which of its tokens are the context's.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "casemate/sanitize/ap_keywords.h"

namespace casemate::sanitize {

struct FittedContext {
  std::vector<ContextPassage> passages;  ///< the first so many, the last perhaps cut
  bool cut = false;
  PromptTokens tokens;
};

/// The longest beginning of the context (whole passages, else sentences of the first) whose prompt leaves room for
/// `max_draft_tokens`. Error: Limit where the question alone does not fit; what the model says.
[[nodiscard]] Result<FittedContext> fit_context(const LanguageModel& model, const UntrustedText& question,
                                                std::span<const ContextPassage> passages, const ApOptions& options);

/// For each passage the part of the last message that holds its text; -1 where it has none.
[[nodiscard]] std::vector<int> passage_parts(const Prompt& prompt, std::span<const ContextPassage> passages);

}  // namespace casemate::sanitize
