#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <vector>

#include "certify/verify/checks.h"
#include "certify/verify/choices.h"

namespace casemate::verify {
namespace {

/// Every choice of `combination` fragments once, each list in order and without repeats.
bool lists_are_sound(const RetrievalEvidence& evidence) {
  std::set<std::uint32_t> subsets;
  for (const RetrievalList& list : evidence.lists) {
    if (std::popcount(list.subset) != evidence.combination || !subsets.insert(list.subset).second) return false;
    std::set<std::int64_t> passages;
    for (std::size_t i = 0; i < list.entries.size(); ++i) {
      const RetrievalEntry& entry = list.entries[i];
      if (!passages.insert(entry.passage).second) return false;
      if (i == 0) continue;
      const RetrievalEntry& better = list.entries[i - 1];
      if (better.sum < entry.sum || (better.sum == entry.sum && better.passage > entry.passage)) return false;
    }
  }
  const auto all =
      count_choices(static_cast<std::size_t>(evidence.fragments), static_cast<std::size_t>(evidence.combination));
  return subsets.size() == all;
}

/// The largest sum that a planted passage reaches with `poisoned` arbitrary slots among a list's fragments.
std::int64_t planted_sum(const RetrievalEvidence& evidence, int poisoned) {
  return poisoned * evidence.one + (evidence.combination - poisoned) * evidence.s_max;
}

/// Lists that a planted passage can enter, for the placement of its slots that is best for it.
std::int64_t most_planted_votes(const RetrievalEvidence& evidence, Work& work) {
  std::int64_t most = 0;
  every_choice(static_cast<std::size_t>(evidence.fragments), static_cast<std::size_t>(evidence.poisoned_fragments),
               evidence.lists.size(), work, [&](std::span<const std::size_t> slots) {
                 std::uint32_t placed = 0;
                 for (const std::size_t slot : slots) placed |= 1U << slot;
                 std::int64_t entered = 0;
                 for (const RetrievalList& list : evidence.lists) {
                   const int poisoned = std::popcount(list.subset & placed);
                   entered += planted_sum(evidence, poisoned) >= list.entries.back().sum ? 1 : 0;
                 }
                 most = std::max(most, entered);
                 return true;
               });
  return most;
}

/// For each passage the lists in which it stays among the first p whatever the planted passages are.
std::map<std::int64_t, std::int64_t> votes_kept(const RetrievalEvidence& evidence) {
  const int poisoned = std::min(evidence.poisoned_fragments, evidence.combination);
  std::map<std::int64_t, std::int64_t> kept;
  for (const RetrievalList& list : evidence.lists) {
    for (std::size_t i = 0; i < list.entries.size(); ++i) {
      const bool room = static_cast<std::int64_t>(i) + 1 + evidence.planted <= evidence.top_p;
      const bool stays = room || list.entries[i].sum > planted_sum(evidence, poisoned);
      kept[list.entries[i].passage] += stays ? 1 : 0;
    }
  }
  return kept;
}

}  // namespace

void check_retrieval(const Certificate& certificate, const RetrievalEvidence& evidence, Checks& checks) {
  checks.add("the claim is of passages by themselves, whose place is not told",
             certificate.group_size == 1 && !certificate.positions_in_prompt);
  checks.add("the passages given are RAGPart's results, all of them",
             evidence.results.size() == certificate.passages.size());
  checks.add("there is a list for every choice of fragments, each in order", lists_are_sound(evidence));

  std::map<std::int64_t, std::int64_t> votes;
  for (const RetrievalList& list : evidence.lists) {
    for (const RetrievalEntry& entry : list.entries) ++votes[entry.passage];
  }
  std::int64_t fewest = static_cast<std::int64_t>(evidence.lists.size());
  for (const std::int64_t result : evidence.results) {
    const auto found = votes.find(result);
    fewest = std::min(fewest, found == votes.end() ? 0 : found->second);
  }
  const std::set<std::int64_t> different(evidence.results.begin(), evidence.results.end());
  std::int64_t outsider = 0;
  for (const auto& [passage, count] : votes) {
    if (!different.contains(passage)) outsider = std::max(outsider, count);
  }
  checks.add("the results are different, and no passage outside has more votes",
             different.size() == evidence.results.size() && outsider <= fewest);
  checks.add("the most votes of a passage outside the results", outsider == evidence.outsider_votes,
             std::to_string(outsider));
  const std::int64_t planted = most_planted_votes(evidence, checks.work());
  checks.add("the lists that a planted passage can enter", planted == evidence.planted_votes, std::to_string(planted));

  const auto stays = votes_kept(evidence);
  std::vector<std::int64_t> kept;
  int unentered = 0;
  int unchanged = 0;
  for (const std::int64_t result : evidence.results) {
    const auto found = stays.find(result);
    kept.push_back(found == stays.end() ? 0 : found->second);
    unentered += kept.back() > planted ? 1 : 0;
    unchanged += kept.back() > std::max(planted, outsider) ? 1 : 0;
  }
  checks.add("the votes that each result keeps", kept == evidence.kept_votes);
  checks.add("the planted passages among the results", evidence.planted_at_most == evidence.top_p - unentered,
             "at most " + std::to_string(evidence.top_p - unentered));
  checks.add("the results that can change", evidence.changed_at_most == evidence.top_p - unchanged,
             "at most " + std::to_string(evidence.top_p - unchanged));
  checks.add("the answer stands that many changed passages", certificate.k_prime >= evidence.top_p - unchanged);
}

}  // namespace casemate::verify
