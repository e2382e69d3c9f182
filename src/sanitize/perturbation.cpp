#include "sanitize/perturbation.h"

#include <algorithm>
#include <numeric>

#include "casemate/llm/generate_each.h"

namespace casemate::sanitize {
namespace {

/// Sequences of one batch; a model may allow fewer than 255.
constexpr std::size_t kMostSequences = 16;

Result<std::vector<double>> batch_losses(LanguageModel& model, std::span<const std::vector<TokenId>> prompts,
                                         std::span<const TokenId> draft, const std::stop_token& stop) {
  const std::size_t shared = common_prefix(prompts);
  std::vector<BatchSequence> sequences;
  for (const auto& prompt : prompts) sequences.push_back({std::span(prompt).subspan(shared)});
  auto batch = model.start_batch(std::span(prompts.front()).first(shared), sequences, stop);
  if (!batch) return batch.error();
  std::vector<double> losses(prompts.size(), 0.0);
  for (std::size_t t = 0; t < draft.size(); ++t) {
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      const auto next = (*batch)->log_probabilities(i);
      if (!next) return next.error();
      losses[i] -= static_cast<double>((*next)[static_cast<std::size_t>(draft[t])]);
    }
    if (t + 1 == draft.size()) break;
    std::vector<BatchAppend> appends;
    for (std::size_t i = 0; i < prompts.size(); ++i) appends.push_back({i, draft.subspan(t, 1)});
    if (Status stepped = (*batch)->append(appends, stop); !stepped) return stepped.error();
  }
  for (double& loss : losses) loss /= static_cast<double>(draft.size());
  return losses;
}

}  // namespace

Result<std::vector<double>> batched_losses(LanguageModel& model, std::span<const std::vector<TokenId>> prompts,
                                           std::span<const TokenId> draft, const std::stop_token& stop) {
  std::vector<double> out;
  for (std::size_t from = 0; from < prompts.size(); from += kMostSequences) {
    const std::size_t count = std::min(kMostSequences, prompts.size() - from);
    auto losses = batch_losses(model, prompts.subspan(from, count), draft, stop);
    if (!losses) return losses.error();
    out.insert(out.end(), losses->begin(), losses->end());
  }
  return out;
}

Result<std::vector<double>> chained_losses(LanguageModel& model, std::span<const std::vector<TokenId>> prompts,
                                           std::span<const TokenId> base, std::span<const TokenId> draft,
                                           const std::stop_token& stop) {
  // Latest difference first: what a prompt has in common with the one before it is then all that it has in common with
  // the base, and the model's cache of the last prompt serves as the shared prefix.
  std::vector<std::size_t> order(prompts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto shared = [&](std::size_t i) {
    const auto ends = std::mismatch(base.begin(), base.end(), prompts[i].begin(), prompts[i].end());
    return ends.first - base.begin();
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return shared(a) > shared(b); });
  std::vector<double> out(prompts.size());
  for (const std::size_t i : order) {
    const auto score = model.score_continuation(prompts[i], draft, stop);
    if (!score) return score.error();
    out[i] = score->loss;
  }
  return out;
}

Status perturb(LanguageModel& model, const UntrustedText& question, const FittedContext& fitted,
               const ContextWords& context, std::span<const TokenId> draft, const ApOptions& options,
               ApKeywords& keywords, const std::stop_token& stop) {
  std::vector<std::vector<TokenId>> prompts;
  for (const ApCandidate& candidate : keywords.candidates) {
    const auto changed = without(fitted.passages, context, candidate.occurrences, options.perturbation);
    auto tokens = model.tokenize_prompt(ap_prompt(question, changed));
    if (!tokens) return tokens.error();
    prompts.push_back(std::move(tokens->ids));
  }
  const auto losses = model.capabilities().has(Feature::kContinuationLoss)
                          ? chained_losses(model, prompts, fitted.tokens.ids, draft, stop)
                          : batched_losses(model, prompts, draft, stop);
  if (!losses) return losses.error();
  for (std::size_t i = 0; i < losses->size(); ++i)
    keywords.candidates[i].loss_change = (*losses)[i] - keywords.draft_loss;
  return {};
}

}  // namespace casemate::sanitize
