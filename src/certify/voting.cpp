#include "casemate/certify/voting.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "casemate/certify/benign_cases.h"

namespace casemate {
namespace {

/// c(a) - c(b) >= lead + [b precedes a] for every other letter b, those without a vote included.
bool leads_all(std::span<const std::int64_t> counts, std::size_t right, std::int64_t lead) {
  for (std::size_t other = 0; other < counts.size(); ++other) {
    if (other == right) continue;
    const std::int64_t tie_is_lost = other < right ? 1 : 0;
    if (counts[right] - counts[other] < lead + tie_is_lost) return false;
  }
  return true;
}

Status check(const VotingEvidence& evidence, const LiveSetting& setting) {
  const auto invalid = [](const char* message) { return Error{ErrorCode::kInvalidArgument, message}; };
  if (setting.passages < 1 || setting.group_size < 1 || setting.epsilon < 0 || setting.epsilon > kOne) {
    return invalid("expected at least one passage, groups of at least one, and an epsilon in [0, 1]");
  }
  if (evidence.letters.size() < 2 || evidence.winner >= evidence.letters.size()) {
    return invalid("expected at least two letters, the winner among them");
  }
  if (static_cast<std::int64_t>(evidence.groups.size()) != group_count(setting.passages, setting.group_size)) {
    return invalid("the number of groups is not ceil(passages / group_size)");
  }
  for (const VotingGroup& group : evidence.groups) {
    if (group.vote && *group.vote >= evidence.letters.size()) return invalid("a vote for a letter that is not there");
    if (group.margin < 0 || group.margin > kOne) return invalid("a margin outside [0, 1]");
  }
  return {};
}

}  // namespace

std::optional<std::size_t> voting_winner(std::span<const std::int64_t> counts) {
  const auto best = std::max_element(counts.begin(), counts.end());  // the first of the largest
  if (best == counts.end() || *best <= 0) return std::nullopt;
  return static_cast<std::size_t>(best - counts.begin());
}

Result<bool> voting_holds(std::span<const std::int64_t> benign_counts, std::size_t right,
                          std::int64_t corrupted_groups) {
  if (benign_counts.size() < 2 || right >= benign_counts.size() || corrupted_groups < 0 ||
      std::any_of(benign_counts.begin(), benign_counts.end(), [](std::int64_t count) { return count < 0; })) {
    return Error{ErrorCode::kInvalidArgument,
                 "expected counts of at least two letters, the right one among them, and no negative number"};
  }
  // Without a vote, the answer without retrieval is given.
  return benign_counts[right] > 0 && leads_all(benign_counts, right, corrupted_groups);
}

Result<LiveOutcome> certify_voting(const VotingEvidence& evidence, const LiveSetting& setting) {
  if (Status valid = check(evidence, setting); !valid) return valid.error();
  std::vector<std::int64_t> counts(evidence.letters.size(), 0);
  std::int64_t unstable = 0;
  for (const VotingGroup& group : evidence.groups) {
    if (group.margin <= 2 * setting.epsilon) {
      ++unstable;
    } else if (group.vote) {
      ++counts[*group.vote];
    }
  }
  const auto groups = static_cast<std::int64_t>(evidence.groups.size());
  LiveOutcome out;
  for (std::int64_t k_prime = 1; k_prime <= setting.passages; ++k_prime) {
    // A group that is taken loses a vote for the winner and gains one for a rival; an unstable one only gains one.
    const std::int64_t taken = std::min(k_prime, groups);
    if (counts[evidence.winner] <= taken || !leads_all(counts, evidence.winner, 2 * taken + unstable)) {
      out.limited_by = "with " + std::to_string(k_prime) + " malicious passages another letter can win";
      return out;
    }
    out.k_prime = k_prime;
  }
  return out;
}

}  // namespace casemate
