#include <algorithm>
#include <set>

#include "certify/keyword.h"
#include "certify/stopped.h"

namespace casemate {

namespace certify {

KeywordReach reach_of_counts(const Counts& counts, std::int64_t answering, std::int64_t corrupted,
                             const KeywordThreshold& rule) {
  KeywordReach reach;
  // The threshold rises by at most 1 a group that answers (alpha <= 1), so answering is never worse for the attacker.
  reach.threshold = rule.least_count(answering + corrupted);
  reach.attacker_words = corrupted > 0 && reach.threshold <= corrupted;
  reach.no_retrieval = answering == 0;
  for (const auto& [word, count] : counts) {
    if (count >= reach.threshold) {
      reach.certain.push_back(word);
    } else if (count >= reach.threshold - corrupted) {
      reach.possible.push_back(word);
    }
  }
  return reach;
}

std::vector<std::string> hint_set(const KeywordReach& reach, std::uint64_t chosen) {
  std::vector<std::string> out = reach.certain;
  for (std::size_t i = 0; i < reach.possible.size(); ++i) {
    if (((chosen >> i) & 1U) != 0) out.push_back(reach.possible[i]);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Status check_options(const KeywordOptions& options) {
  if (auto rule = KeywordThreshold::create(options.rule.alpha, options.rule.beta); !rule) return rule.error();
  if (options.epsilon < 0 || options.epsilon > kOne) {
    return Error{ErrorCode::kInvalidOption, "epsilon: expected a value in [0, 1]"};
  }
  if (options.max_model_calls < 1 || options.max_model_calls > kMaxModelCalls) {
    return Error{ErrorCode::kInvalidOption, "max_model_calls: expected a number in [1, 16384]"};
  }
  return {};
}

}  // namespace certify

Result<KeywordReach> keyword_reach(const KeywordCase& benign, const KeywordThreshold& rule) {
  if (benign.corrupted_groups < 0) {
    return Error{ErrorCode::kInvalidArgument, "a negative number of corrupted groups"};
  }
  certify::Counts counts;
  for (const auto& words : benign.answering) {
    for (const std::string& word : std::set<std::string>(words.begin(), words.end())) ++counts[word];
  }
  return certify::reach_of_counts(counts, static_cast<std::int64_t>(benign.answering.size()), benign.corrupted_groups,
                                  rule);
}

Result<CaseOutcome> certify_keyword_case(const KeywordCase& benign, const KeywordOptions& options,
                                         const AnswerFromHints& answer, const ScoreAnswer& score,
                                         const std::stop_token& stop) {
  if (Status valid = certify::check_options(options); !valid) return valid.error();
  const auto reach = keyword_reach(benign, options.rule);
  if (!reach) return reach.error();
  CaseOutcome out;
  const auto refuse = [&out](std::string reason) {
    out.tau = 0;
    out.reason = std::move(reason);
    return out;
  };
  if (reach->no_retrieval) return refuse("no benign group answers");
  if (reach->attacker_words) return refuse("words of the attacker alone can become hints");
  const std::size_t bits = reach->possible.size();
  if (bits > 14 || (std::int64_t{1} << bits) > options.max_model_calls) {
    return refuse("2^" + std::to_string(bits) + " sets of hints can come about, more than the budget of " +
                  std::to_string(options.max_model_calls) + " model calls");
  }
  for (std::uint64_t chosen = 0; chosen < (std::uint64_t{1} << bits); ++chosen) {
    if (stop.stop_requested()) return certify::stopped();
    const auto answered = answer(certify::hint_set(*reach, chosen));
    if (!answered) return answered.error();
    ++out.model_calls;
    if (answered->margin <= 2 * options.epsilon) return refuse("a second prompt's answer is unstable under the slack");
    const auto scored = score(answered->text);
    if (!scored) return scored.error();
    out.tau = out.outcomes == 0 ? *scored : std::min(out.tau, *scored);
    ++out.outcomes;
  }
  out.certified = true;
  return out;
}

}  // namespace casemate
