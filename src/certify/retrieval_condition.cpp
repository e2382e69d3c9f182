#include "casemate/certify/retrieval_condition.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "certify/group_choices.h"

namespace casemate {
namespace {

using certify::GroupChoices;

constexpr std::uint64_t kMaxRetrievalLooks = std::uint64_t{1} << 28U;
constexpr std::int64_t kMaxOne = std::int64_t{1} << 57U;

Error invalid(const std::string& message) { return {ErrorCode::kInvalidArgument, message}; }

Status check_ranges(const RetrievalEvidence& evidence) {
  if (evidence.fragments < 1 || evidence.fragments > kMaxRagPartFragments)
    return invalid("fragments: expected 1 to 20");
  if (evidence.combination < 1 || evidence.combination > evidence.fragments) {
    return invalid("combination: expected 1 to the number of fragments");
  }
  if (evidence.top_p < 1 || evidence.results.size() != static_cast<std::size_t>(evidence.top_p)) {
    return invalid("top_p: expected at least 1, and as many results");
  }
  if (evidence.planted < 1) return invalid("planted: expected at least 1");
  if (evidence.poisoned_fragments < 0) return invalid("poisoned_fragments: expected at least 0");
  if (evidence.one < 1 || evidence.one > kMaxOne || evidence.s_max > evidence.one || evidence.s_max < -evidence.one) {
    return invalid("s_max: expected a similarity in [-one, one]");
  }
  return {};
}

Status check_lists(const RetrievalEvidence& evidence) {
  std::set<std::uint32_t> subsets;
  for (const RetrievalList& list : evidence.lists) {
    subsets.insert(list.subset);
    if (std::popcount(list.subset) != evidence.combination || (list.subset >> evidence.fragments) != 0) {
      return invalid("a list is not of `combination` of the fragments");
    }
    if (list.entries.size() != static_cast<std::size_t>(evidence.top_p))
      return invalid("a list has not top_p passages");
    std::set<std::int64_t> passages;
    for (std::size_t i = 0; i < list.entries.size(); ++i) {
      const bool falls =
          i == 0 || list.entries[i - 1].sum > list.entries[i].sum ||
          (list.entries[i - 1].sum == list.entries[i].sum && list.entries[i - 1].passage < list.entries[i].passage);
      if (!falls || !passages.insert(list.entries[i].passage).second) return invalid("a list is not in order");
    }
  }
  const std::uint64_t all = GroupChoices::count(evidence.fragments, evidence.combination, kMaxRetrievalLooks);
  if (subsets.size() != all || evidence.lists.size() != all) return invalid("expected one list for each choice");
  return {};
}

/// By poisoned slots among a list's fragments: the largest sum of a planted passage.
std::vector<std::int64_t> planted_sums(const RetrievalEvidence& evidence) {
  std::vector<std::int64_t> sums;
  for (int h = 0; h <= evidence.combination; ++h) {
    sums.push_back(h * evidence.one + (evidence.combination - h) * evidence.s_max);
  }
  return sums;
}

}  // namespace

Status bound_retrieval(RetrievalEvidence& evidence) {
  if (Status valid = check_ranges(evidence); !valid) return valid;
  if (Status valid = check_lists(evidence); !valid) return valid;
  // More slots than there are fragments change nothing.
  evidence.poisoned_fragments = std::min(evidence.poisoned_fragments, evidence.fragments);
  const std::uint64_t placements =
      GroupChoices::count(evidence.fragments, evidence.poisoned_fragments, kMaxRetrievalLooks);
  if (placements * evidence.lists.size() > kMaxRetrievalLooks) {
    return Error{ErrorCode::kLimit, "too many placements of poisoned fragments times lists; take fewer fragments"};
  }
  const std::vector<std::int64_t> sums = planted_sums(evidence);
  evidence.planted_votes = 0;
  for (GroupChoices slots(evidence.fragments, evidence.poisoned_fragments); slots.valid(); slots.next()) {
    const auto entered = std::count_if(evidence.lists.begin(), evidence.lists.end(), [&](const RetrievalList& list) {
      const int h = std::popcount(list.subset & static_cast<std::uint32_t>(slots.mask()));
      // An equal sum may win by its id.
      return sums[static_cast<std::size_t>(h)] >= list.entries.back().sum;
    });
    evidence.planted_votes = std::max<std::int64_t>(evidence.planted_votes, entered);
  }

  const int h = std::min(evidence.poisoned_fragments, evidence.combination);
  const std::int64_t strongest = sums[static_cast<std::size_t>(h)];
  std::map<std::int64_t, std::int64_t> votes;
  std::map<std::int64_t, std::int64_t> kept;
  for (const RetrievalList& list : evidence.lists) {
    for (std::size_t i = 0; i < list.entries.size(); ++i) {
      const RetrievalEntry& entry = list.entries[i];
      const auto rank = static_cast<std::int64_t>(i) + 1;
      ++votes[entry.passage];
      // It stays where all planted passages fit in behind it, or where none can pass it.
      if (rank <= evidence.top_p - evidence.planted || entry.sum > strongest) ++kept[entry.passage];
    }
  }
  evidence.outsider_votes = 0;
  const std::set<std::int64_t> results(evidence.results.begin(), evidence.results.end());
  if (results.size() != evidence.results.size()) return invalid("a result stands twice");
  for (const auto& [passage, count] : votes) {
    if (!results.contains(passage)) evidence.outsider_votes = std::max(evidence.outsider_votes, count);
  }
  evidence.kept_votes.clear();
  evidence.planted_at_most = evidence.top_p;
  evidence.changed_at_most = evidence.top_p;
  for (const std::int64_t result : evidence.results) {
    const std::int64_t votes_kept = kept.contains(result) ? kept[result] : 0;
    evidence.kept_votes.push_back(votes_kept);
    if (votes_kept > evidence.planted_votes) --evidence.planted_at_most;
    if (votes_kept > std::max(evidence.planted_votes, evidence.outsider_votes)) --evidence.changed_at_most;
  }
  return {};
}

Result<RetrievalEvidence> retrieval_condition(const RagPartRanking& ranking, int fragments,
                                              const RagPartSearchOptions& search, const RetrievalPath& path,
                                              const PlantedPassages& planted) {
  const auto unsupported = [](const char* what) {
    return Error{ErrorCode::kUnsupported, std::string("the retrieval condition says nothing of ") + what};
  };
  if (path.aggregation != RagPartAggregation::kMajority || search.aggregation != RagPartAggregation::kMajority) {
    return unsupported("other aggregations than majority");
  }
  if (path.renormalise) return unsupported("renormalised mixes");
  if (!path.exact_dense_scan) return unsupported("approximate or hybrid retrieval");
  if (!path.unit_vectors) return unsupported("embeddings that are not unit vectors");
  if (path.later_stages) return unsupported("stages after RAGPart that look at several passages");
  if (!(planted.s_max >= -1 && planted.s_max <= 1)) return invalid("s_max: expected a similarity in [-1, 1]");
  if (!(planted.rounding >= 0 && planted.rounding <= 0.01)) return invalid("rounding: expected a value in [0, 0.01]");
  const RagPartLists& lists = ranking.all_lists;
  if (search.top_p < 1 || lists.subsets.size() != ranking.lists || lists.subsets.empty()) {
    return invalid("expected a search with keep_lists that found something");
  }
  if (lists.depth < static_cast<std::size_t>(search.top_p)) {
    return invalid("there are fewer passages than top_p, so that any planted one enters");
  }
  RetrievalEvidence out;
  out.fragments = fragments;
  out.combination = search.combination;
  out.top_p = search.top_p;
  out.planted = planted.planted;
  out.poisoned_fragments = planted.poisoned_fragments;
  out.one = static_cast<std::int64_t>(std::ceil((1 + planted.rounding) / kRagPartUnit));
  out.s_max =
      std::min(out.one, static_cast<std::int64_t>(std::ceil((planted.s_max + planted.rounding) / kRagPartUnit)));
  for (const RagPartHit& hit : ranking.hits) out.results.push_back(hit.chunk);
  for (std::size_t i = 0; i < lists.subsets.size(); ++i) {
    RetrievalList list{lists.subsets[i], {}};
    for (const RagPartEntry& entry : lists.list(i)) list.entries.push_back({entry.chunk, entry.sum});
    out.lists.push_back(std::move(list));
  }
  if (Status bound = bound_retrieval(out); !bound) return bound.error();
  return out;
}

}  // namespace casemate
