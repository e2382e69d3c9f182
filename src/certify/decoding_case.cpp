#include <algorithm>
#include <utility>
#include <vector>

#include "casemate/certify/decoding.h"
#include "certify/step_sums.h"
#include "certify/stopped.h"

namespace casemate {
namespace {

using Output = std::vector<std::int32_t>;

/// Depth-first search over every output that the attacker can bring about.
class DecodingTree {
 public:
  DecodingTree(const DecodingModel& model, const DecodingCaseOptions& options, const std::stop_token& stop)
      : model_(model), options_(options), stop_(stop) {}

  Result<CaseOutcome> search() {
    std::vector<Output> open = {{}};
    while (!open.empty()) {
      if (stop_.stop_requested()) return certify::stopped();
      const Output prefix = std::move(open.back());
      open.pop_back();
      if (is_whole(prefix)) {
        const auto score = model_.score(prefix);
        if (!score) return score.error();
        out_.tau = out_.outcomes == 0 ? *score : std::min(out_.tau, *score);
        ++out_.outcomes;
        continue;
      }
      if (out_.model_calls >= options_.max_steps) {
        return refuse("more prefixes can come about than the budget of " + std::to_string(options_.max_steps));
      }
      const auto next = next_tokens(prefix);
      if (!next) return next.error();
      if (next->empty()) return refuse("any token can come about at token " + std::to_string(prefix.size() + 1));
      for (auto token = next->rbegin(); token != next->rend(); ++token) {
        open.push_back(prefix);
        open.back().push_back(*token);
      }
    }
    out_.certified = true;
    return out_;
  }

 private:
  [[nodiscard]] bool is_whole(const Output& prefix) const {
    return static_cast<std::int64_t>(prefix.size()) >= options_.max_new_tokens ||
           (!prefix.empty() && model_.is_end(prefix.back()));
  }

  CaseOutcome refuse(std::string reason) {
    out_.tau = 0;
    out_.reason = std::move(reason);
    return out_;
  }

  /// Ascending; none where any token can come about.
  Result<Output> next_tokens(const Output& prefix) {
    ++out_.model_calls;
    const auto groups = model_.groups(prefix);
    if (!groups) return groups.error();
    auto reach = decoding_reach(*groups, options_.corrupted_groups, options_.rule);
    if (!reach) return reach.error();
    if (reach->any_token) return Output();
    Output tokens = std::move(reach->tokens);
    if (reach->no_retrieval) {
      const auto fallback = model_.no_retrieval(prefix);
      if (!fallback) return fallback.error();
      tokens.insert(tokens.end(), fallback->begin(), fallback->end());
    }
    std::sort(tokens.begin(), tokens.end());
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    return tokens;
  }

  const DecodingModel& model_;
  const DecodingCaseOptions& options_;
  const std::stop_token& stop_;
  CaseOutcome out_;
};

}  // namespace

Result<StepReach> decoding_reach(std::span<const SparseProbabilities> benign, std::int64_t corrupted_groups,
                                 const DecodingRule& rule) {
  if (Status valid = certify::check_rule(rule); !valid) return valid.error();
  if (corrupted_groups < 0) return Error{ErrorCode::kInvalidArgument, "a negative number of corrupted groups"};
  std::vector<const SparseProbabilities*> groups;
  for (const SparseProbabilities& group : benign) {
    if (Status valid = certify::check_probabilities(group, rule.vocabulary); !valid) return valid.error();
    groups.push_back(&group);
  }
  certify::StepTable table(groups, rule.vocabulary);
  return certify::reach_of_sums(table.sums_without(0), corrupted_groups, rule);
}

Result<CaseOutcome> certify_decoding_case(const DecodingModel& model, const DecodingCaseOptions& options,
                                          const std::stop_token& stop) {
  if (Status valid = certify::check_rule(options.rule); !valid) return valid.error();
  if (options.max_new_tokens < 1 || options.max_steps < 1) {
    return Error{ErrorCode::kInvalidOption, "max_new_tokens, max_steps: expected at least 1"};
  }
  return DecodingTree(model, options, stop).search();
}

}  // namespace casemate
