// src/defend/subset_lists.h
#pragma once

#include <cstdint>
#include <vector>

#include "casemate/core/thread_pool.h"
#include "casemate/defend/ragpart_index.h"

namespace casemate {

/// Chunks with exact fragment scores, by ascending id. Values of one fragment lie side by side.
struct ScoredChunks {
  std::size_t fragments = 0;       ///< N
  std::vector<ChunkId> ids;        ///< [m] strictly ascending
  std::vector<std::int64_t> sums;  ///< [N, m] inner product of each fragment in kRagPartUnit
  std::vector<double> gram;        ///< [N, N, m] inner products of fragments, or empty: scores are not divided
  [[nodiscard]] std::size_t size() const { return ids.size(); }
};

/// The lists of all choices of k fragments over `chunks`, each with the best `depth` of them.
struct SubsetVotes {
  std::vector<std::uint32_t> votes;  ///< [m]
  /// No more than the last score of any list, as a sum (or, divided, as a ratio of sum and norm); -infinity where the
  /// lists are not full.
  float lowest = 0;
};

/// `lists` (may be null) gets every list. Needs 1 <= k <= N <= 20, depth >= 1.
[[nodiscard]] SubsetVotes vote_over_subsets(const ScoredChunks& chunks, std::size_t k, std::size_t depth,
                                            RagPartLists* lists, const ThreadPool& pool);

/// C(n, k) for n <= 20.
[[nodiscard]] std::uint32_t subset_count(std::size_t n, std::size_t k) noexcept;

}  // namespace casemate
