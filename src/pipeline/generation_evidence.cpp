#include "pipeline/generation_evidence.h"

#include <algorithm>
#include <sstream>

namespace casemate {
namespace {

std::string number(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

std::vector<std::pair<std::string, int>> counted(const RobustAnswer& answer) {
  std::vector<std::pair<std::string, int>> out(answer.counts.begin(), answer.counts.end());
  for (const auto& [option, votes] : answer.votes) out.emplace_back(option_letter(option), votes);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

}  // namespace

void note_neutralised(std::span<const NeutralisedString> changed, StageEvidence& stage) {
  for (const NeutralisedString& each : changed) {
    stage.notes.push_back(
        "\"" + UntrustedText(each.text).for_log() +
        "\" in a passage or question was made harmless, since a remote model would have read it as a special token");
  }
}

StageEvidence generation_stage(const LanguageModel& model, const RobustOptions& options, const RobustAnswer& answer,
                               std::span<const Hit> hits) {
  StageEvidence stage;
  stage.stage = "generate";
  stage.parameters = {{"method", std::string(aggregation_name(options.method))},
                      {"model", model.info().name},
                      {"group_size", std::to_string(options.group_size)},
                      {"max_new_tokens", std::to_string(options.max_new_tokens)}};
  if (options.method == Aggregation::kKeyword) {
    stage.parameters.emplace_back("alpha", options.threshold.alpha.text());
    stage.parameters.emplace_back("beta", options.threshold.beta.text());
  }
  if (options.method == Aggregation::kDecoding) {
    stage.parameters.emplace_back("eta", number(options.eta));
    stage.parameters.emplace_back("gamma", number(options.gamma));
  }
  stage.passages_in = hits.size();
  stage.passages_out = hits.size();
  for (const GroupAnswer& group : answer.groups) {
    if (!group.too_long) continue;
    for (const std::size_t i : group.passages) {
      stage.verdicts.push_back(
          {hits[i].id, hits[i].document, Decision::kDropped, "does not fit the model's context", {}, {}});
      --stage.passages_out;
    }
  }
  note_neutralised(answer.neutralised, stage);
  if (!answer.from_passages)
    stage.notes.emplace_back("the passages agree on no answer: this is what the model says without them");
  return stage;
}

GenerationEvidence generation_evidence(const LanguageModel& model, const Question& question,
                                       const RobustOptions& options, const RobustAnswer& answer,
                                       std::span<const Hit> hits) {
  GenerationEvidence out;
  out.method = aggregation_name(options.method);
  out.from_passages = answer.from_passages;
  out.counts = counted(answer);
  out.hints = answer.hints;
  out.decoded_tokens = answer.usage.decoded_tokens;
  out.reused_tokens = answer.usage.reused_tokens;
  for (const GroupAnswer& group : answer.groups) {
    GroupEvidence entry;
    for (const std::size_t i : group.passages) entry.passages.push_back(hits[i].id);
    entry.answer = group.text;
    entry.abstains = group.abstains;
    entry.too_long = group.too_long;
    entry.stands_behind = stands_behind(answer, group);
    entry.smallest_gap = group.smallest_gap;
    if (group.option && *group.option < question.options.size()) entry.vote = option_letter(*group.option);
    entry.keywords.assign(group.keywords.begin(), group.keywords.end());
    entry.agreement = group.agreement;
    entry.abstention_probability = group.abstention_probability;
    out.groups.push_back(std::move(entry));
  }
  for (const AnswerStep& step : answer.steps) {
    const auto text = model.detokenize(std::span(&step.token, 1));
    out.steps.push_back({UntrustedText(text ? *text : std::string()), step.from_passages, step.gap});
  }
  return out;
}

}  // namespace casemate
