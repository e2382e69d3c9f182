// What certificates ask a live model, and how near its answers were to others.
#pragma once

#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "casemate/certify/keyword.h"
#include "casemate/generate/robust_rag.h"

namespace casemate {

/// The gap of a group's answer; nothing where the model gives no probabilities. A group that was not asked answers the
/// same again. Error: Model where it is no probability.
[[nodiscard]] Result<std::optional<Billionths>> group_margin(const GroupAnswer& group);

/// The error of the probability of declining, a product of one factor a token: as often `epsilon` as the words have
/// tokens.
[[nodiscard]] Result<Billionths> refusal_slack(const LanguageModel& model, Billionths epsilon);

/// Most that a token can have which is not among `listed`, the likeliest, descending, where at most `most` were listed.
[[nodiscard]] double unlisted_bound(std::span<const std::pair<TokenId, double>> listed, std::size_t most);

/// Second prompts of keyword aggregation, by `options.max_new_tokens` and `options.answers`: each set of hints is asked
/// once. Arguments must outlive it.
class PromptedAnswers {
 public:
  PromptedAnswers(LanguageModel& model, const Question& question, const RobustOptions& options, std::stop_token stop)
      : model_(model), question_(question), options_(options), stop_(std::move(stop)) {}
  [[nodiscard]] AnswerFromHints callback() {
    return [this](std::span<const std::string> hints) { return answer(hints); };
  }

 private:
  Result<HintedAnswer> answer(std::span<const std::string> hints);

  LanguageModel& model_;
  const Question& question_;
  const RobustOptions& options_;
  std::stop_token stop_;
  std::map<std::vector<std::string>, HintedAnswer> known_;
};

}  // namespace casemate
