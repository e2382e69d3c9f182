// The causal test: what the loss of the draft becomes without a candidate.
#pragma once

#include <span>
#include <stop_token>

#include "sanitize/ap_context.h"
#include "sanitize/candidate_phrases.h"

namespace casemate::sanitize {

/// Fills `loss_change` of every candidate of `keywords`. What the perturbed prompts share with the whole one is
/// computed once. Error: what the model says; Cancelled.
[[nodiscard]] Status perturb(LanguageModel& model, const UntrustedText& question, const FittedContext& fitted,
                             const ContextWords& context, std::span<const TokenId> draft, const ApOptions& options,
                             ApKeywords& keywords, const std::stop_token& stop);

/// Mean nats a token of `draft` after each of `prompts`, one after another over the cache of the prompt before, in the
/// order that shares most with `base`. Needs kContinuationLoss.
[[nodiscard]] Result<std::vector<double>> chained_losses(LanguageModel& model,
                                                         std::span<const std::vector<TokenId>> prompts,
                                                         std::span<const TokenId> base, std::span<const TokenId> draft,
                                                         const std::stop_token& stop);
/// The same in lock step over one prefix that all share. Needs kSharedPrefix and kFullLogProbabilities.
[[nodiscard]] Result<std::vector<double>> batched_losses(LanguageModel& model,
                                                         std::span<const std::vector<TokenId>> prompts,
                                                         std::span<const TokenId> draft, const std::stop_token& stop);

}  // namespace casemate::sanitize
