#include "casemate/certify/decoding.h"

#include <algorithm>
#include <string>
#include <vector>

#include "casemate/certify/benign_cases.h"
#include "certify/group_choices.h"
#include "certify/step_sums.h"
#include "certify/stopped.h"

namespace casemate {
namespace {

using certify::GroupChoices;

constexpr std::uint64_t kMaxDecodingChoices = std::uint64_t{1} << 16U;
constexpr std::uint64_t kMaxDecodingLooks = std::uint64_t{1} << 28U;
constexpr std::size_t kMaxDecodingGroups = 64;

/// Who counts: the stable groups that answer, those that abstain, and those that are the attacker's anyway.
struct Roles {
  std::vector<bool> answers;
  std::int64_t answering = 0;
  std::int64_t abstaining = 0;
  std::int64_t unstable = 0;
};

Roles roles_of(const DecodingEvidence& evidence, Billionths epsilon) {
  Roles roles;
  for (const DecodingGroup& group : evidence.groups) {
    const bool unstable = group.refusal - evidence.gamma <= epsilon && evidence.gamma - group.refusal <= epsilon;
    const bool abstains = group.refusal > evidence.gamma;
    roles.answers.push_back(!unstable && !abstains);
    ++(unstable ? roles.unstable : abstains ? roles.abstaining : roles.answering);
  }
  return roles;
}

Status check(const DecodingEvidence& evidence, const Roles& roles, const DecodingRule& rule,
             const LiveSetting& setting) {
  const auto invalid = [](const std::string& message) { return Error{ErrorCode::kInvalidArgument, message}; };
  if (Status valid = certify::check_rule(rule); !valid) return valid;
  if (setting.passages < 1 || setting.group_size < 1) return invalid("expected at least one passage, groups of one");
  if (static_cast<std::int64_t>(evidence.groups.size()) != group_count(setting.passages, setting.group_size)) {
    return invalid("the number of groups is not ceil(passages / group_size)");
  }
  if (evidence.groups.size() > kMaxDecodingGroups) return invalid("more than 64 groups");
  for (std::size_t i = 0; i < evidence.steps.size(); ++i) {
    const DecodingStep& step = evidence.steps[i];
    const std::string where = "step " + std::to_string(i + 1) + ": ";
    if (step.groups.size() != evidence.groups.size()) return invalid(where + "expected an entry for each group");
    for (std::size_t g = 0; g < step.groups.size(); ++g) {
      if (step.groups[g].has_value() != roles.answers[g]) {
        return invalid(where + "expected probabilities of exactly the stable groups that answer");
      }
      if (!step.groups[g]) continue;
      if (Status valid = certify::check_probabilities(*step.groups[g], rule.vocabulary); !valid) {
        return valid.error().in("step " + std::to_string(i + 1));
      }
    }
    if (step.token < 0 || step.token >= rule.vocabulary) return invalid(where + "a token outside the vocabulary");
  }
  return {};
}

/// True where nothing but the emitted token can come out.
bool is_forced(const StepReach& reach, const DecodingStep& step) {
  if (reach.any_token) return false;
  for (const std::int32_t token : reach.tokens) {
    if (token != step.token) return false;
  }
  const bool falls_back_on_it = step.no_retrieval.size() == 1 && step.no_retrieval[0] == step.token;
  return !reach.no_retrieval || falls_back_on_it;
}

}  // namespace

Result<LiveOutcome> certify_decoding(const DecodingEvidence& evidence, std::int64_t vocabulary,
                                     const LiveSetting& setting, const std::stop_token& stop) {
  const DecodingRule rule{evidence.eta, setting.epsilon, vocabulary};
  const Roles roles = roles_of(evidence, setting.epsilon);
  if (Status valid = check(evidence, roles, rule, setting); !valid) return valid.error();
  std::vector<certify::StepTable> tables;
  std::uint64_t cells = 0;
  for (const DecodingStep& step : evidence.steps) {
    std::vector<const SparseProbabilities*> groups;
    for (const auto& group : step.groups) {
      if (group) groups.push_back(&*group);
    }
    tables.emplace_back(groups, vocabulary);
    cells += tables.back().columns() * (groups.size() + 1);
  }

  LiveOutcome out;
  if (evidence.steps.empty()) {
    out.limited_by = "nothing was emitted";
    return out;
  }
  std::uint64_t looks = 0;
  for (std::int64_t k_prime = 1; k_prime <= setting.passages; ++k_prime) {
    const std::int64_t taken = std::min(k_prime, roles.answering + roles.abstaining);
    const std::string malicious = " with " + std::to_string(k_prime) + " malicious passages";
    // Groups that abstain are all alike: only how many are taken matters.
    for (std::int64_t answering = std::max<std::int64_t>(0, taken - roles.abstaining);
         answering <= std::min(taken, roles.answering); ++answering) {
      const int n = static_cast<int>(roles.answering);
      const int r = static_cast<int>(answering);
      const std::uint64_t choices = GroupChoices::count(n, r, kMaxDecodingChoices);
      looks += choices > kMaxDecodingChoices ? kMaxDecodingLooks : choices * cells;
      if (looks > kMaxDecodingLooks) {
        out.limited_by = "there are too many choices of groups" + malicious;
        return out;
      }
      for (std::size_t i = 0; i < tables.size(); ++i) {
        for (GroupChoices choice(n, r); choice.valid(); choice.next()) {
          if (stop.stop_requested()) return certify::stopped();
          const certify::StepSums& sums = tables[i].sums_without(choice.mask());
          if (is_forced(certify::reach_of_sums(sums, taken + roles.unstable, rule), evidence.steps[i])) continue;
          out.limited_by = "token " + std::to_string(i + 1) + " is not forced" + malicious;
          return out;
        }
      }
    }
    out.k_prime = k_prime;
  }
  return out;
}

}  // namespace casemate
