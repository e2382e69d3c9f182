#include "certify/step_sums.h"

#include <algorithm>

namespace casemate::certify {

StepTable::StepTable(std::span<const SparseProbabilities* const> groups, std::int64_t vocabulary)
    : groups_(groups.size()) {
  std::vector<std::int32_t>& tokens = all_.tokens;
  for (const SparseProbabilities* group : groups) {
    for (const TokenProbability& entry : group->listed) tokens.push_back(entry.token);
  }
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  low_.assign(groups_ * tokens.size(), 0);
  high_.assign(groups_ * tokens.size(), 0);
  all_.low.assign(tokens.size(), 0);
  all_.high.assign(tokens.size(), 0);
  all_.has_others = static_cast<std::int64_t>(tokens.size()) < vocabulary;
  all_.groups = static_cast<std::int64_t>(groups_);
  for (std::size_t g = 0; g < groups_; ++g) {
    const std::span<Billionths> low = std::span(low_).subspan(g * tokens.size(), tokens.size());
    const std::span<Billionths> high = std::span(high_).subspan(g * tokens.size(), tokens.size());
    std::fill(high.begin(), high.end(), groups[g]->largest_unlisted);
    std::size_t at = 0;
    for (const TokenProbability& entry : groups[g]->listed) {
      while (tokens[at] != entry.token) ++at;
      low[at] = high[at] = entry.probability;
    }
    others_.push_back(groups[g]->largest_unlisted);
    all_.others += others_.back();
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      all_.low[t] += low[t];
      all_.high[t] += high[t];
    }
  }
  sums_ = all_;
}

const StepSums& StepTable::sums_without(std::uint64_t removed) {
  const std::size_t tokens = all_.tokens.size();
  sums_.low = all_.low;
  sums_.high = all_.high;
  sums_.others = all_.others;
  sums_.groups = all_.groups;
  for (std::size_t g = 0; g < groups_; ++g) {
    if (((removed >> g) & 1U) == 0) continue;
    --sums_.groups;
    sums_.others -= others_[g];
    for (std::size_t t = 0; t < tokens; ++t) {
      sums_.low[t] -= low_[g * tokens + t];
      sums_.high[t] -= high_[g * tokens + t];
    }
  }
  return sums_;
}

namespace {

/// The two largest values, and where the largest is. A value that is not there counts as 0: there are at least two
/// tokens.
struct TopTwo {
  Billionths first = 0;
  Billionths second = 0;
  std::size_t at = SIZE_MAX;
  [[nodiscard]] Billionths best_but(std::size_t index) const { return index == at ? second : first; }
};

TopTwo top_two(const std::vector<Billionths>& values) {
  TopTwo out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > out.first || out.at == SIZE_MAX) {
      out.second = out.at == SIZE_MAX ? 0 : out.first;
      out.first = values[i];
      out.at = i;
    } else {
      out.second = std::max(out.second, values[i]);
    }
  }
  return out;
}

}  // namespace

StepReach reach_of_sums(const StepSums& sums, std::int64_t corrupted, const DecodingRule& rule) {
  const Billionths attack = corrupted * kOne;
  const Billionths slack = 2 * sums.groups * rule.epsilon;
  const TopTwo low = top_two(sums.low);
  const TopTwo high = top_two(sums.high);
  StepReach reach;
  // c comes out as the best where v_c + m' - max over d != c of v_d > eta - E: the attacker gives it all it has.
  for (std::size_t t = 0; t < sums.tokens.size(); ++t) {
    if (sums.high[t] + attack - low.best_but(t) > rule.eta - slack) reach.tokens.push_back(sums.tokens[t]);
  }
  if (sums.has_others) reach.any_token = sums.others + attack - low.first > rule.eta - slack;
  // The attacker closes the gap between the two best by at most m'.
  Billionths second = low.at == SIZE_MAX ? 0 : high.best_but(low.at);
  if (sums.has_others) second = std::max(second, sums.others);
  reach.no_retrieval = low.first - second <= rule.eta + attack + slack;
  return reach;
}

Status check_rule(const DecodingRule& rule) {
  const auto invalid = [](const char* message) { return Error{ErrorCode::kInvalidOption, message}; };
  if (rule.eta < 0 || rule.eta > 1000 * kOne) return invalid("eta: expected a value in [0, 1000]");
  if (rule.epsilon < 0 || rule.epsilon > kOne) return invalid("epsilon: expected a value in [0, 1]");
  if (rule.vocabulary < 2) return invalid("vocabulary: expected at least two tokens");
  return {};
}

Status check_probabilities(const SparseProbabilities& group, std::int64_t vocabulary) {
  bool sound = group.largest_unlisted >= 0 && group.largest_unlisted <= kOne;
  for (std::size_t i = 0; i < group.listed.size(); ++i) {
    const TokenProbability& entry = group.listed[i];
    sound = sound && entry.probability >= 0 && entry.probability <= kOne && entry.token >= 0 &&
            entry.token < vocabulary && (i == 0 || group.listed[i - 1].token < entry.token);
  }
  if (sound) return {};
  return Error{ErrorCode::kInvalidArgument,
               "expected probabilities in [0, 1] of ascending tokens that the vocabulary has"};
}

}  // namespace casemate::certify
