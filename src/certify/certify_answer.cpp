#include "casemate/certify/certify_answer.h"

#include <algorithm>

#include "casemate/certify/decoding.h"
#include "casemate/certify/keyword.h"
#include "casemate/certify/voting.h"
#include "certify/prompted_answers.h"

namespace casemate {
namespace {

constexpr const char* kNoProbabilities =
    "the model does not give the probabilities of every decision, where its answers end included, so how near they "
    "were "
    "to others is not known";

/// What the rules look at together.
constexpr std::size_t kMostGroups = 64;

class Certifier {
 public:
  Certifier(LanguageModel& model, const Question& question, std::span<const PromptPassage> passages,
            const RobustOptions& options, const RobustAnswer& answer, const CertifyAnswerOptions& certify,
            const std::stop_token& stop)
      : model_(model),
        question_(question),
        passages_(passages),
        options_(options),
        answer_(answer),
        certify_(certify),
        stop_(stop) {
    setting_ = {static_cast<std::int64_t>(passages.size()), options.group_size, certify.epsilon};
  }

  Result<AnswerCertificate> voting() {
    VotingEvidence evidence;
    evidence.max_new_tokens = options_.max_new_tokens;
    for (std::size_t i = 0; i < question_.options.size(); ++i) evidence.letters.push_back(option_letter(i));
    for (const GroupAnswer& group : answer_.groups) {
      const auto margin = group_margin(group);
      if (!margin) return margin.error();
      if (!*margin) return refused(kNoProbabilities);
      evidence.groups.push_back({valid(group.text), group.option, **margin});
    }
    const auto winner = std::find(evidence.letters.begin(), evidence.letters.end(), answer_.text.bytes());
    if (winner == evidence.letters.end())
      return Error{ErrorCode::kInvalidArgument, "the answer is none of the question's letters"};
    evidence.winner = static_cast<std::size_t>(winner - evidence.letters.begin());
    const auto outcome = certify_voting(evidence, setting_);
    if (!outcome) return outcome.error();
    return made(*outcome, std::move(evidence));
  }

  Result<AnswerCertificate> keyword() {
    if (!answer_.second_prompt_gap) return refused(kNoProbabilities);
    KeywordEvidence evidence;
    evidence.alpha = options_.threshold.alpha.text();
    evidence.beta = options_.threshold.beta.text();
    evidence.long_answers = options_.min_phrase_words > 1;
    evidence.max_new_tokens = options_.max_new_tokens;
    for (const GroupAnswer& group : answer_.groups) {
      const auto margin = group_margin(group);
      if (!margin) return margin.error();
      if (!*margin) return refused(kNoProbabilities);
      KeywordGroup entry{valid(group.text), std::nullopt, **margin};
      if (!group.abstains) entry.keywords.emplace(group.keywords.begin(), group.keywords.end());
      evidence.groups.push_back(std::move(entry));
    }
    evidence.kept = answer_.hints;
    std::sort(evidence.kept.begin(), evidence.kept.end());
    const auto margin = to_billionths(*answer_.second_prompt_gap);
    if (!margin) return margin.error();
    const HintSet emitted{evidence.kept, valid(answer_.text), *margin};
    PromptedAnswers prompted(model_, question_, options_, stop_);
    auto outcome =
        certify_keyword(evidence.groups, emitted, {options_.threshold, certify_.epsilon, certify_.max_model_calls},
                        setting_, prompted.callback(), stop_);
    if (!outcome) return outcome.error();
    evidence.hint_sets = std::move(outcome->hint_sets);
    auto out = made(outcome->live, std::move(evidence));
    if (out) out->model_calls = outcome->model_calls;
    return out;
  }

  Result<AnswerCertificate> decoding() {
    const auto slack = refusal_slack(model_, certify_.epsilon);
    if (!slack) return slack.error();
    DecodingEvidence evidence;
    auto eta = to_billionths_above_one(options_.eta);
    auto gamma = to_billionths(options_.gamma);
    if (!eta) return eta.error();
    if (!gamma) return gamma.error();
    evidence.eta = *eta;
    evidence.gamma = *gamma;
    evidence.max_new_tokens = options_.max_new_tokens;
    const auto vocabulary = static_cast<TokenId>(model_.info().vocabulary_size);
    for (TokenId id = 0; id < vocabulary; ++id) {
      if (model_.is_end_token(id)) evidence.end_tokens.push_back(id);
    }
    std::vector<bool> counts;
    for (const GroupAnswer& group : answer_.groups) {
      const auto refusal = to_billionths(group.abstention_probability);
      if (!refusal) return refusal.error();
      // A group that is too near to gamma stands in the certificate as if it were there: it is the attacker's.
      const bool near_gamma = std::max(*refusal - evidence.gamma, evidence.gamma - *refusal) <= *slack;
      evidence.groups.push_back({near_gamma ? evidence.gamma : *refusal});
      counts.push_back(!near_gamma && *refusal < evidence.gamma);
    }
    const bool heard = std::any_of(counts.begin(), counts.end(), [](bool each) { return each; });
    for (const AnswerStep& step : answer_.steps) {
      auto entry = step_of(step, counts);
      if (!entry) return entry.error();
      evidence.steps.push_back(*std::move(entry));
    }
    const bool whole =
        !answer_.steps.empty() && (model_.is_end_token(answer_.steps.back().token) ||
                                   static_cast<std::int64_t>(answer_.steps.size()) == evidence.max_new_tokens);
    if (!whole) return refused("the answer was cut by the model's context");
    auto outcome = certify_decoding(evidence, vocabulary, setting_, stop_);
    if (!outcome) return outcome.error();
    if (!heard && outcome->k_prime == 0)
      outcome->limited_by = "every group declines, or nearly so, and one that does not may decide alone under this eta";
    return made(*outcome, std::move(evidence));
  }

  [[nodiscard]] static Result<AnswerCertificate> refused(std::string reason) {
    AnswerCertificate out;
    out.limited_by = std::move(reason);
    return out;
  }

 private:
  static UntrustedText valid(const UntrustedText& text) { return UntrustedText(text.for_json()); }

  static Result<Billionths> to_billionths_above_one(double value) {
    const auto decimal = Decimal::from(value);
    if (!decimal) return decimal.error().in("eta");
    return decimal->billionths();
  }

  Result<DecodingStep> step_of(const AnswerStep& step, const std::vector<bool>& counts) const {
    const bool heard = std::any_of(counts.begin(), counts.end(), [](bool each) { return each; });
    if (step.groups.empty() && (heard || step.no_retrieval.empty()))
      return Error{ErrorCode::kInvalidArgument, "the answer has no trace: run it with options.trace"};
    DecodingStep out;
    out.token = step.token;
    out.groups.resize(counts.size());
    for (const ListedDistribution& group : step.groups) {
      if (!counts.at(group.group)) continue;
      auto sparse = sparse_probabilities(group.listed, group.unlisted_at_most);
      if (!sparse) return sparse.error();
      out.groups[group.group] = *std::move(sparse);
    }
    if (!step.no_retrieval.empty()) {
      auto near = no_retrieval_candidates(
          step.no_retrieval, unlisted_bound(step.no_retrieval, options_.listed_probabilities), certify_.epsilon);
      if (!near) return near.error();
      if (*near) out.no_retrieval = **std::move(near);
    }
    return out;
  }

  template <typename Evidence>
  Result<AnswerCertificate> made(const LiveOutcome& outcome, Evidence evidence) const {
    AnswerCertificate out;
    out.k_prime = outcome.k_prime;
    out.limited_by = outcome.limited_by;
    if (outcome.k_prime < 1) return out;
    Certificate certificate;
    certificate.question = CertifiedQuestion::of(asked_text(question_), certify_.withhold_question);
    certificate.answer = valid(answer_.text);
    certificate.k_prime = outcome.k_prime;
    for (const PromptPassage& passage : passages_) certificate.passages.push_back(passage_hash(passage));
    certificate.group_size = options_.group_size;
    certificate.model = {model_.info().name, model_.info().file_hash,
                         static_cast<std::int64_t>(model_.info().vocabulary_size)};
    const Digest prompts = prompt_hash(question_.task);
    certificate.prompts.group = prompts;
    if (options_.method == Aggregation::kKeyword) certificate.prompts.second = prompts;
    if (options_.method == Aggregation::kDecoding) certificate.prompts.without_retrieval = prompts;
    certificate.epsilon = certify_.epsilon;
    certificate.evidence = std::move(evidence);
    out.certificate = std::move(certificate);
    return out;
  }

  LanguageModel& model_;
  const Question& question_;
  std::span<const PromptPassage> passages_;
  const RobustOptions& options_;
  const RobustAnswer& answer_;
  const CertifyAnswerOptions& certify_;
  const std::stop_token& stop_;
  LiveSetting setting_;
};

}  // namespace

Result<AnswerCertificate> certify_answer(LanguageModel& model, const Question& question,
                                         std::span<const PromptPassage> passages, const RobustOptions& options,
                                         const RobustAnswer& answer, const CertifyAnswerOptions& certify,
                                         std::stop_token stop) {
  if (answer.groups.size() != passage_groups(passages.size(), options.group_size).size())
    return Error{ErrorCode::kInvalidArgument, "the answer's groups are not those of the passages"};
  // Under decoding, tokens that no passage decided can be forced all the same.
  if (!answer.from_passages && answer.steps.empty())
    return Certifier::refused("the passages agree on nothing, so the model answered alone");
  if (answer.groups.size() > kMostGroups)
    return Certifier::refused("there are more than " + std::to_string(kMostGroups) + " groups");
  Certifier certifier(model, question, passages, options, answer, certify, stop);
  switch (options.method) {
    case Aggregation::kVoting:
      return certifier.voting();
    case Aggregation::kKeyword:
      return certifier.keyword();
    case Aggregation::kDecoding:
      return certifier.decoding();
  }
  return Error{ErrorCode::kUnsupported, "no certificate for this method"};
}

}  // namespace casemate
