#include "certify/prompted_answers.h"

#include "casemate/certify/decoding.h"
#include "casemate/generate/decoding_session.h"

namespace casemate {

Result<std::optional<Billionths>> group_margin(const GroupAnswer& group) {
  if (group.too_long) return std::optional<Billionths>(kOne);
  if (!group.smallest_gap) return std::optional<Billionths>();
  const auto margin = to_billionths(*group.smallest_gap);
  if (!margin) return margin.error();
  return std::optional<Billionths>(*margin);
}

Result<Billionths> refusal_slack(const LanguageModel& model, Billionths epsilon) {
  const auto words = model.tokenize(abstention_text(), SpecialTokens::kAsText);
  if (!words) return words.error();
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(words->ids.size())) * epsilon;
}

double unlisted_bound(std::span<const std::pair<TokenId, double>> listed, std::size_t most) {
  return listed.size() < most ? DecodingSession::kLeastProbability : listed.back().second;
}

Result<HintedAnswer> PromptedAnswers::answer(std::span<const std::string> hints) {
  std::vector<std::string> ordered(hints.begin(), hints.end());
  order_hints(ordered);
  if (const auto known = known_.find(ordered); known != known_.end()) return known->second;
  auto made = answer_prompt(model_, answer_from_hints_prompt(question_, ordered), options_.max_new_tokens, stop_,
                            options_.answers);
  if (!made) return made.error();
  const auto margin = to_billionths(made->smallest_gap.value_or(0));
  if (!margin) return margin.error();
  return known_.emplace(std::move(ordered), HintedAnswer{UntrustedText(made->text.for_json()), *margin}).first->second;
}

}  // namespace casemate
