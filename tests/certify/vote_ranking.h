// tests/certify/vote_ranking.h
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "casemate/certify/certificate.h"

namespace casemate::test {

/// Integer similarities of each passage's fragments to a question, by id.
using Similarities = std::map<std::int64_t, std::vector<std::int64_t>>;

/// RAGPart by its definition: every list, then the votes.
struct VoteRanking {
  std::vector<RetrievalList> lists;
  std::vector<std::int64_t> top;
};

inline VoteRanking rank_by_votes(const Similarities& passages, int combination, int top_p) {
  VoteRanking out;
  const auto fragments = static_cast<int>(passages.begin()->second.size());
  const auto p = static_cast<std::size_t>(top_p);
  std::map<std::int64_t, std::int64_t> votes;
  for (std::uint32_t subset = 1; subset < (1U << fragments); ++subset) {
    if (__builtin_popcount(subset) != combination) continue;
    RetrievalList list{subset, {}};
    for (const auto& [id, similarity] : passages) {
      std::int64_t sum = 0;
      for (int i = 0; i < fragments; ++i)
        sum += ((subset >> i) & 1U) != 0 ? similarity[static_cast<std::size_t>(i)] : 0;
      list.entries.push_back({id, sum});
    }
    // Stable: equal sums stay in order of ids.
    std::stable_sort(list.entries.begin(), list.entries.end(),
                     [](const RetrievalEntry& a, const RetrievalEntry& b) { return a.sum > b.sum; });
    list.entries.resize(std::min(p, list.entries.size()));
    for (const RetrievalEntry& entry : list.entries) ++votes[entry.passage];
    out.lists.push_back(list);
  }
  for (const auto& [id, similarity] : passages) out.top.push_back(id);
  const auto total = [&](std::int64_t id) {
    const auto& similarity = passages.at(id);
    return std::accumulate(similarity.begin(), similarity.end(), std::int64_t{0});
  };
  std::stable_sort(out.top.begin(), out.top.end(), [&](std::int64_t a, std::int64_t b) {
    return votes[a] != votes[b] ? votes[a] > votes[b] : total(a) > total(b);
  });
  out.top.resize(std::min(p, out.top.size()));
  return out;
}

}  // namespace casemate::test
