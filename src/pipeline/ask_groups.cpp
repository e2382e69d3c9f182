#include <algorithm>

#include "casemate/certify/certify_answer.h"
#include "casemate/certify/make_certificate.h"
#include "casemate/core/clock.h"
#include "pipeline/generation_evidence.h"
#include "pipeline/pipeline_state.h"

namespace casemate {
namespace {

/// Error: Unsupported where something before the groups has mixed their passages.
Status check_isolation(std::span<const DefenceChoice> defences) {
  for (const DefenceChoice& defence : defences) {
    if (defence.name != "paraphrase") continue;
    return Error{ErrorCode::kUnsupported,
                 "certificates need groups that nothing mixes: " + defence.name +
                     " writes passages anew, and what it writes is not what was certified; leave it out or do not "
                     "certify"};
  }
  return {};
}

}  // namespace

Status Pipeline::State::prepare_generation() {
  const GenerationChoice& choice = policy.generation;
  if (choice.certify && !choice.aggregation) {
    return Error{ErrorCode::kInvalidOption,
                 "an answer from one prompt with all passages cannot be certified; choose an aggregation: voting, "
                 "keyword or decoding"};
  }
  if (choice.certify) {
    if (Status isolated = check_isolation(policy.defences); !isolated) return isolated;
    if (parts.key == nullptr) own_key = SigningKey::generate();
  }
  if (choice.aggregation == Aggregation::kKeyword) {
    auto extractor = KeywordExtractor::create();
    if (!extractor) return extractor.error();
    keywords = *std::move(extractor);
  }
  if (choice.aggregation == Aggregation::kDecoding && parts.model != nullptr) {
    return require(*parts.model, {Feature::kFullLogProbabilities, Feature::kSharedPrefix}, "decoding aggregation");
  }
  return {};
}

Result<Answer> Pipeline::State::ask_groups(SearchResult found, const UntrustedText& text, const QueryOptions& options,
                                           std::stop_token stop) const {
  Question question;
  question.text = text;
  question.options = options.options;
  if (!question.options.empty()) {
    question.task = AnswerTask::kMultipleChoice;
  } else if (policy.generation.long_text) {
    question.task = AnswerTask::kLongText;
  }
  RobustOptions robust = robust_options(policy.generation.aggregation.value_or(Aggregation::kVoting), question.task);
  robust.group_size = policy.generation.group_size;
  robust.max_new_tokens = std::min(robust.max_new_tokens, policy.max_new_tokens);
  robust.trace = policy.generation.certify;
  robust.tenant = options.tenant;
  robust.states = parts.states;
  if (keywords) robust.keywords = keywords_by(*keywords);
  std::vector<PromptPassage> passages;
  passages.reserve(found.hits.size());
  for (const Hit& hit : found.hits) passages.push_back({hit.title, hit.text});
  auto made = answer_robustly(*parts.model, question, passages, robust, stop);
  if (!made) return made.error();
  Answer answer;
  answer.question = text;
  answer.text = made->text;
  answer.policy = found.policy;
  answer.evidence = std::move(found.evidence);
  answer.finish_reason = finish_reason_name(made->finish);
  answer.prompt_tokens = static_cast<std::size_t>(made->usage.decoded_tokens + made->usage.reused_tokens);
  answer.generated_tokens = made->generated_tokens;
  answer.evidence.stages.push_back(generation_stage(*parts.model, robust, *made, found.hits));
  GenerationEvidence evidence = generation_evidence(*parts.model, question, robust, *made, found.hits);
  if (policy.generation.certify) {
    auto certified = certify_answer(*parts.model, question, passages, robust, *made, {}, stop);
    if (!certified) return certified.error();
    evidence.certified = true;
    evidence.k_prime = certified->k_prime;
    evidence.limited_by = certified->limited_by;
    if (certified->certificate) {
      certified->certificate->created_at = Clock::system().unix_seconds();
      auto file = write_certificate(*std::move(certified->certificate), parts.key != nullptr ? *parts.key : *own_key);
      if (!file) return file.error();
      answer.certificate = *std::move(file);
    }
  }
  for (std::size_t i = 0; i < found.hits.size(); ++i) {
    Source source;
    source.number = static_cast<int>(i) + 1;
    for (const GroupEvidence& group : evidence.groups) {
      if (std::find(group.passages.begin(), group.passages.end(), found.hits[i].id) != group.passages.end())
        source.cited = group.stands_behind;
    }
    source.hit = std::move(found.hits[i]);
    answer.sources.push_back(std::move(source));
  }
  answer.evidence.generation = std::move(evidence);
  return answer;
}

}  // namespace casemate
