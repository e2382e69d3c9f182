#include <algorithm>

#include "casemate/certify/certify_answer.h"
#include "casemate/certify/make_certificate.h"
#include "casemate/core/clock.h"
#include "casemate/defend/ragpart.h"
#include "pipeline/generation_evidence.h"
#include "pipeline/pipeline_state.h"
#include "pipeline/search.h"

namespace casemate {
namespace {

/// What the retrieval condition found, and whether it composes with the certificate of the answer.
std::string composition_note(const RetrievalEvidence& retrieval, std::int64_t k_prime) {
  std::string note = std::to_string(retrieval.planted) + " planted passage" + (retrieval.planted == 1 ? "" : "s") +
                     " with " + std::to_string(retrieval.poisoned_fragments) + " poisoned fragment" +
                     (retrieval.poisoned_fragments == 1 ? "" : "s") + " could enter at most " +
                     std::to_string(retrieval.planted_votes) + " of " + std::to_string(retrieval.lists.size()) +
                     " lists and change at most " + std::to_string(retrieval.changed_at_most) + " of the " +
                     std::to_string(retrieval.results.size()) + " passages";
  if (k_prime >= std::max(1, retrieval.changed_at_most)) return note + ": the answer stays as it is";
  return note + ", more than the " + std::to_string(k_prime) +
         " that the answer is certified for: nothing is claimed about planted passages";
}

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

Result<RetrievalEvidence> Pipeline::State::retrieval_evidence(const SearchResult& found, const QueryOptions& options,
                                                              const PlantedPassages& planted) const {
  const auto* ragpart = dynamic_cast<const RagPart*>(scan.get());
  if (ragpart == nullptr)
    return Error{ErrorCode::kUnsupported, "the retrieval condition is about ragpart's votes: put it first"};
  RetrievalPath path;
  path.aggregation = ragpart->options().aggregation;
  path.renormalise = ragpart->options().renormalise;
  path.later_stages = !defences.empty();
  path.unit_vectors = parts.encoder->info().normalized;
  DefenceQuery query;
  query.text = found.query;
  query.tenant = options.tenant;
  query.seed = options.seed;
  const std::string_view text = found.query.bytes();
  auto encoded = parts.encoder->encode_queries(std::span(&text, 1));
  if (!encoded) return encoded.error();
  query.embedding = std::move(encoded->embeddings.values);
  std::shared_ptr<const ChunkSet> allowed;
  if (!options.filter.lets_everything_through()) {
    auto selected = parts.store->select(options.tenant, options.filter);
    if (!selected) return selected.error();
    allowed = *std::move(selected);
  }
  const int top_k = options.top_k.value_or(policy.top_k);
  const auto ranking = ragpart->ranking(*parts.store, query, top_k, allowed.get(), *parts.pool);
  if (!ranking) return ranking.error();
  auto evidence =
      retrieval_condition(*ranking, ragpart->options().fragments, ragpart->search_options(query, top_k), path, planted);
  if (!evidence) return evidence.error();
  const bool same = std::equal(evidence->results.begin(), evidence->results.end(), found.hits.begin(), found.hits.end(),
                               [](std::int64_t id, const Hit& hit) { return id == hit.id; });
  if (!same) return Error{ErrorCode::kUnsupported, "the store changed between the search and the certificate"};
  return evidence;
}

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
  robust.max_new_tokens = std::min(robust.max_new_tokens, max_new_tokens(options));
  robust.trace = policy.generation.certify;
  robust.tenant = options.tenant;
  robust.states = parts.states;
  if (keywords) robust.keywords = keywords_by(*keywords);
  const std::vector<PromptPassage> passages = prompt_passages(found.hits);
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
  if (!options.style.empty())
    answer.evidence.stages.back().notes.emplace_back(
        "the operator's style is not used: groups see nothing but their passages");
  GenerationEvidence evidence = generation_evidence(*parts.model, question, robust, *made, found.hits);
  if (policy.generation.certify) {
    auto certified = certify_answer(*parts.model, question, passages, robust, *made, {}, stop);
    if (!certified) return certified.error();
    evidence.certified = true;
    evidence.k_prime = certified->k_prime;
    evidence.limited_by = certified->limited_by;
    StageEvidence& stage = answer.evidence.stages.back();
    if (policy.generation.planted) {
      auto retrieval = retrieval_evidence(found, options, *policy.generation.planted);
      if (!retrieval && retrieval.error().code != ErrorCode::kUnsupported &&
          retrieval.error().code != ErrorCode::kInvalidArgument)
        return retrieval.error();
      stage.notes.push_back(retrieval ? composition_note(*retrieval, certified->k_prime)
                                      : "nothing is claimed about planted passages: " + retrieval.error().message);
      if (retrieval && certified->certificate) certified->certificate->retrieval = *std::move(retrieval);
    }
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
