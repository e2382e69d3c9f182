#include "generate/decoding.h"

#include <algorithm>

#include "casemate/generate/decoding_session.h"

namespace casemate::generate {
namespace {

ListedDistribution shorten(const TokenProbabilities& all, std::size_t group, std::size_t most) {
  ListedDistribution out;
  out.group = group;
  out.listed.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size())));
  out.unlisted_at_most = all.size() > most ? all[most].second : DecodingSession::kLeastProbability;
  return out;
}

/// One step: the likeliest token of the sums where it is ahead by more than eta, else the token without retrieval,
/// which is all there is where every group declines.
Result<AnswerStep> decide(DecodingSession& session, const RobustOptions& options, RobustAnswer& answer) {
  const auto next = session.next();
  if (!next) return next.error();
  const TokenProbabilities sums = sum_probabilities(*next);
  if (sums.empty() && !next->empty()) return Error{ErrorCode::kModel, "the model's output is not a number"};
  const double second = sums.size() > 1 ? sums[1].second : 0;
  AnswerStep step;
  step.from_passages = false;
  if (!sums.empty()) {
    step.token = sums[0].first;
    step.gap = sums[0].second - second;
    step.from_passages = step.gap > options.eta;
  }
  if (!step.from_passages || options.trace) {
    auto alone = session.no_retrieval();
    if (!alone) return alone.error();
    if (alone->empty()) return Error{ErrorCode::kModel, "the model's output is not a number"};
    step.no_retrieval = *std::move(alone);
    if (!step.from_passages) step.token = step.no_retrieval.front().first;
  }
  for (std::size_t i = 0; i < next->size(); ++i) {
    if (!(*next)[i].empty() && (*next)[i].front().first == step.token)
      answer.groups[session.remaining()[i]].agreement += 1;
  }
  if (options.trace) {
    for (std::size_t i = 0; i < next->size(); ++i)
      step.groups.push_back(shorten((*next)[i], session.remaining()[i], options.listed_probabilities));
  }
  return step;
}

}  // namespace

Result<RobustAnswer> answer_by_decoding(LanguageModel& model, const Question& question,
                                        std::span<const PromptPassage> passages, const RobustOptions& options,
                                        const std::stop_token& stop) {
  const auto groups = passage_groups(passages.size(), options.group_size);
  auto session = DecodingSession::start(model, question, passages, groups, options, stop);
  if (!session) return session.error();
  RobustAnswer answer;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    GroupAnswer group;
    group.passages = groups[i];
    group.too_long = (*session)->too_long(i);
    group.abstention_probability = (*session)->abstention_probability(i);
    const auto remaining = (*session)->remaining();
    group.abstains = !std::binary_search(remaining.begin(), remaining.end(), i);
    answer.groups.push_back(std::move(group));
  }
  std::vector<TokenId> ids;
  answer.finish = FinishReason::kLength;
  while (static_cast<int>(ids.size()) < options.max_new_tokens) {
    auto step = decide(**session, options, answer);
    if (!step) return step.error();
    const TokenId token = step->token;
    answer.steps.push_back(*std::move(step));
    if (model.is_end_token(token)) {
      answer.finish = FinishReason::kEnd;
      break;
    }
    ids.push_back(token);
    if (static_cast<int>(ids.size()) == options.max_new_tokens || (*session)->full()) break;
    if (Status pushed = (*session)->push(token); !pushed) return pushed.error();
  }
  answer.from_passages =
      std::any_of(answer.steps.begin(), answer.steps.end(), [](const AnswerStep& step) { return step.from_passages; });
  for (GroupAnswer& group : answer.groups) group.agreement /= static_cast<double>(answer.steps.size());
  auto text = model.detokenize(ids);
  if (!text) return text.error();
  answer.text = UntrustedText(*std::move(text));
  answer.generated_tokens = ids.size();
  answer.usage = (*session)->usage();
  answer.prompt_tokens = (*session)->prompt_tokens();
  return answer;
}

}  // namespace casemate::generate
