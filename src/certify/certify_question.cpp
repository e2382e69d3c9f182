#include "casemate/certify/certify_question.h"

#include <algorithm>
#include <map>
#include <memory>

#include "casemate/certify/decoding.h"
#include "casemate/certify/voting.h"
#include "casemate/generate/decoding_session.h"
#include "certify/prompted_answers.h"
#include "certify/stopped.h"

namespace casemate {
namespace {

using Group = std::vector<std::size_t>;

/// Sequences of one batch: more groups than this are not decoded side by side.
constexpr std::size_t kMaxGroupsOfAnswer = 48;

/// The benign cases of a question, with each different group once.
struct Cases {
  std::vector<BenignCase> cases;
  std::vector<Group> groups;
  std::map<Group, std::size_t> places;

  [[nodiscard]] std::vector<std::size_t> of(const BenignCase& each) const {
    std::vector<std::size_t> out;
    for (const auto& group : each.groups) out.push_back(places.at(Group(group.begin(), group.end())));
    return out;
  }
};

Result<Cases> cases_of(std::size_t passages, const RobustOptions& options, const CertifyQuestionOptions& certify,
                       const std::stop_token& stop) {
  auto cases =
      benign_cases(static_cast<std::int64_t>(passages), options.group_size, certify.malicious, certify.threat, stop);
  if (!cases) return cases.error();
  Cases out;
  out.cases = *std::move(cases);
  for (const BenignCase& each : out.cases) {
    for (const auto& ranks : each.groups) {
      const Group group(ranks.begin(), ranks.end());
      if (out.places.emplace(group, out.groups.size()).second) out.groups.push_back(group);
    }
  }
  return out;
}

CaseOutcome refused(std::string reason) {
  CaseOutcome out;
  out.reason = std::move(reason);
  return out;
}

/// The least tau over all cases, or the first that is not certified.
template <typename CertifyCase>
Result<CaseOutcome> least(const Cases& cases, const std::stop_token& stop, const CertifyCase& certify_case) {
  CaseOutcome out;
  out.certified = true;
  bool first = true;
  for (const BenignCase& each : cases.cases) {
    if (stop.stop_requested()) return certify::stopped();
    const Result<CaseOutcome> one = certify_case(each);
    if (!one) return one.error();
    out.outcomes += one->outcomes;
    out.model_calls += one->model_calls;
    if (!one->certified) {
      out.certified = false;
      out.tau = 0;
      out.reason = one->reason;
      return out;
    }
    out.tau = first ? one->tau : std::min(out.tau, one->tau);
    first = false;
  }
  return out;
}

/// A group that answers otherwise for the slightest error counts as corrupted.
Result<bool> is_unstable(const GroupAnswer& answer, Billionths epsilon) {
  const auto margin = group_margin(answer);
  if (!margin) return margin.error();
  return !*margin || **margin <= 2 * epsilon;
}

Result<CaseOutcome> by_votes(const Question& question, const std::vector<GroupAnswer>& answers, const Cases& cases,
                             const CertifyQuestionOptions& certify, const ScoreAnswer& score,
                             const std::stop_token& stop) {
  return least(cases, stop, [&](const BenignCase& each) -> Result<CaseOutcome> {
    std::vector<std::int64_t> counts(question.options.size(), 0);
    std::int64_t corrupted = each.corrupted_groups;
    for (const std::size_t group : cases.of(each)) {
      const auto unstable = is_unstable(answers[group], certify.epsilon);
      if (!unstable) return unstable.error();
      if (*unstable) {
        ++corrupted;
      } else if (answers[group].option) {
        ++counts[*answers[group].option];
      }
    }
    const auto winner = voting_winner(counts);
    if (!winner) return refused("no benign group votes");
    const auto holds = voting_holds(counts, *winner, corrupted);
    if (!holds) return holds.error();
    if (!*holds) return refused("another letter can win");
    const auto scored = score(UntrustedText(option_letter(*winner)));
    if (!scored) return scored.error();
    CaseOutcome out;
    out.certified = true;
    out.tau = *scored;
    out.outcomes = 1;
    return out;
  });
}

Result<CaseOutcome> by_keywords(LanguageModel& model, const Question& question, const RobustOptions& options,
                                const std::vector<GroupAnswer>& answers, const Cases& cases,
                                const CertifyQuestionOptions& certify, const ScoreAnswer& score,
                                const std::stop_token& stop) {
  PromptedAnswers prompted(model, question, options, stop);
  return least(cases, stop, [&](const BenignCase& each) -> Result<CaseOutcome> {
    KeywordCase benign;
    benign.corrupted_groups = each.corrupted_groups;
    for (const std::size_t group : cases.of(each)) {
      const auto unstable = is_unstable(answers[group], certify.epsilon);
      if (!unstable) return unstable.error();
      if (*unstable) {
        ++benign.corrupted_groups;
      } else if (!answers[group].abstains) {
        benign.answering.emplace_back(answers[group].keywords.begin(), answers[group].keywords.end());
      }
    }
    return certify_keyword_case(benign, {options.threshold, certify.epsilon, certify.max_model_calls},
                                prompted.callback(), score, stop);
  });
}

/// A decoding session that goes to any prefix and remembers what it saw.
class Prefixes {
 public:
  Prefixes(DecodingSession& session, std::size_t listed, Billionths epsilon)
      : session_(session), listed_(listed), epsilon_(epsilon) {}

  /// Of the groups `wanted` (numbers of the session) that decode, in order.
  Result<std::vector<SparseProbabilities>> groups(std::span<const std::int32_t> prefix,
                                                  std::span<const std::size_t> wanted) {
    const auto step = at(prefix);
    if (!step) return step.error();
    std::vector<SparseProbabilities> out;
    for (const std::size_t group : wanted) out.push_back((*step)->groups.at(group));
    return out;
  }

  Result<std::vector<std::int32_t>> no_retrieval(std::span<const std::int32_t> prefix) {
    const auto step = at(prefix);
    if (!step) return step.error();
    if ((*step)->alone.empty())
      return Error{ErrorCode::kLimit, "too many tokens are about as likely without retrieval"};
    return (*step)->alone;
  }

 private:
  struct Step {
    std::map<std::size_t, SparseProbabilities> groups;
    std::vector<std::int32_t> alone;  ///< empty where there are too many
  };

  Status go_to(std::span<const std::int32_t> prefix) {
    const auto common = static_cast<std::size_t>(
        std::mismatch(prefix.begin(), prefix.end(), here_.begin(), here_.end()).first - prefix.begin());
    if (Status back = session_.rewind(common); !back) return back;
    here_.resize(common);
    for (const std::int32_t token : prefix.subspan(common)) {
      if (Status pushed = session_.push(token); !pushed) return pushed;
      here_.push_back(token);
    }
    return {};
  }

  Result<const Step*> at(std::span<const std::int32_t> prefix) {
    std::vector<std::int32_t> key(prefix.begin(), prefix.end());
    if (const auto known = seen_.find(key); known != seen_.end()) return &known->second;
    if (Status there = go_to(prefix); !there) return there.error();
    const auto next = session_.next();
    if (!next) return next.error();
    Step step;
    for (std::size_t i = 0; i < next->size(); ++i) {
      auto sparse = shorten((*next)[i]);
      if (!sparse) return sparse.error();
      step.groups.emplace(session_.remaining()[i], *std::move(sparse));
    }
    const auto alone = session_.no_retrieval();
    if (!alone) return alone.error();
    if (!alone->empty()) {
      auto near = no_retrieval_candidates(*alone, unlisted_bound(*alone, listed_), epsilon_);
      if (!near) return near.error();
      if (*near) step.alone = **std::move(near);
    }
    return &seen_.emplace(std::move(key), std::move(step)).first->second;
  }

  [[nodiscard]] Result<SparseProbabilities> shorten(const TokenProbabilities& all) const {
    const auto listed = std::span(all).first(std::min(listed_, all.size()));
    const double bound = all.size() > listed_ ? all[listed_].second : DecodingSession::kLeastProbability;
    return sparse_probabilities(listed, bound);
  }

  DecodingSession& session_;
  std::size_t listed_;
  Billionths epsilon_;
  std::vector<std::int32_t> here_;
  std::map<std::vector<std::int32_t>, Step> seen_;
};

Result<CaseOutcome> by_decoding(LanguageModel& model, const Question& question, std::span<const PromptPassage> passages,
                                const RobustOptions& options, const Cases& cases, const CertifyQuestionOptions& certify,
                                const ScoreAnswer& score, const std::stop_token& stop) {
  if (cases.groups.size() > kMaxGroupsOfAnswer) {
    return Error{ErrorCode::kLimit, std::to_string(cases.groups.size()) +
                                        " different groups can come about, and decoding looks at no more than " +
                                        std::to_string(kMaxGroupsOfAnswer) + " together"};
  }
  const auto slack = refusal_slack(model, certify.epsilon);
  if (!slack) return slack.error();
  const auto eta = Decimal::from(options.eta);
  if (!eta) return eta.error().in("eta");
  const auto gamma = to_billionths(options.gamma);
  if (!gamma) return gamma.error();
  auto session = DecodingSession::start(model, question, passages, cases.groups, options, stop);
  if (!session) return session.error();
  Prefixes prefixes(**session, options.listed_probabilities, certify.epsilon);
  DecodingModel decoding;
  decoding.no_retrieval = [&](std::span<const std::int32_t> prefix) { return prefixes.no_retrieval(prefix); };
  decoding.is_end = [&](std::int32_t token) { return model.is_end_token(token); };
  decoding.score = [&](std::span<const std::int32_t> output) -> Result<double> {
    std::vector<TokenId> ids(output.begin(), output.end());
    if (!ids.empty() && model.is_end_token(ids.back())) ids.pop_back();
    auto text = model.detokenize(ids);
    if (!text) return text.error();
    return score(UntrustedText(*std::move(text)));
  };
  return least(cases, stop, [&](const BenignCase& each) -> Result<CaseOutcome> {
    DecodingCaseOptions case_options;
    case_options.rule = {eta->billionths(), certify.epsilon, static_cast<std::int64_t>(model.info().vocabulary_size)};
    case_options.corrupted_groups = each.corrupted_groups;
    case_options.max_new_tokens = options.max_new_tokens;
    case_options.max_steps = certify.max_steps;
    std::vector<std::size_t> counting;
    for (const std::size_t group : cases.of(each)) {
      const auto refusal = to_billionths((*session)->abstention_probability(group));
      if (!refusal) return refusal.error();
      const bool near_gamma = std::max(*refusal - *gamma, *gamma - *refusal) <= *slack;
      if (near_gamma) {
        ++case_options.corrupted_groups;
      } else if (*refusal < *gamma) {
        counting.push_back(group);
      }
    }
    if (counting.empty()) return refused("every benign group declines, or nearly so");
    decoding.groups = [&](std::span<const std::int32_t> prefix) { return prefixes.groups(prefix, counting); };
    auto outcome = certify_decoding_case(decoding, case_options, stop);
    if (!outcome && outcome.error().code == ErrorCode::kLimit) return refused(outcome.error().message);
    return outcome;
  });
}

}  // namespace

Result<CaseOutcome> certify_question(LanguageModel& model, const Question& question,
                                     std::span<const PromptPassage> passages, const RobustOptions& options,
                                     const CertifyQuestionOptions& certify, const ScoreAnswer& score,
                                     std::stop_token stop) {
  if (Status valid = validate(options); !valid) return valid.error();
  if (Status fits = check_question(question, passages, options); !fits) return fits.error();
  const auto cases = cases_of(passages.size(), options, certify, stop);
  if (!cases) return cases.error();
  if (cases->groups.empty()) return refused("no group without a malicious passage is left");
  if (options.method == Aggregation::kDecoding)
    return by_decoding(model, question, passages, options, *cases, certify, score, stop);
  auto isolated = answer_groups(model, question, passages, cases->groups, options, stop);
  if (!isolated) return isolated.error();
  if (options.method == Aggregation::kVoting) return by_votes(question, isolated->groups, *cases, certify, score, stop);
  return by_keywords(model, question, options, isolated->groups, *cases, certify, score, stop);
}

}  // namespace casemate
