// casemate/defend/ragpart_index.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/thread_pool.h"
#include "casemate/retrieve/quantised_vectors.h"
#include "casemate/store/vector_snapshot.h"

namespace casemate {

/// Most fragments a passage: C(20, 10) = 184,756 lists.
inline constexpr int kMaxRagPartFragments = 20;

/// How the lists become one ranking.
enum class RagPartAggregation : std::uint8_t {
  kMajority,      ///< the most voted; ties by mean score over all fragments, then by id
  kIntersection,  ///< those in every list, by mean score over all fragments, then id; if there is none, a random draw
};

[[nodiscard]] std::string_view ragpart_aggregation_name(RagPartAggregation aggregation) noexcept;
/// "majority", "intersection". Error: InvalidOption, listing the names.
[[nodiscard]] Result<RagPartAggregation> parse_ragpart_aggregation(std::string_view name);

struct RagPartSearchOptions {
  int combination = 3;  ///< k, fragments of a mix; in [1, N]
  int top_p = 5;        ///< chunks of each list and of the result; >= 0
  RagPartAggregation aggregation = RagPartAggregation::kMajority;
  std::uint64_t seed = 0;   ///< of the draw where an intersection is empty
  bool keep_lists = false;  ///< also give every list; at most 2^24 entries
};

/// Sums of scores of k fragments are integers of this unit: each fragment's inner product is rounded to it once, so
/// that sums do not depend on their order.
inline constexpr double kRagPartUnit = 0x1p-40;
/// An inner product counts as at most this, and at least its negative.
inline constexpr float kRagPartLargestScore = 0x1p18F;

struct RagPartHit {
  ChunkId chunk = 0;
  std::uint32_t votes = 0;             ///< lists that it is in
  double mean_score = 0;               ///< over all N fragments
  std::vector<float> fragment_scores;  ///< [N] inner products with the query
};

struct RagPartVote {
  ChunkId chunk = 0;
  std::uint32_t votes = 0;
};

/// A place in a list.
struct RagPartEntry {
  ChunkId chunk = 0;
  /// Sum over the list's k fragments, in kRagPartUnit; the mean is sum * kRagPartUnit / k. 0 with `renormalise`.
  std::int64_t sum = 0;
  double score = 0;  ///< by which the list is ranked: the mean, or with `renormalise` the mean's cosine to the query
};

/// Every list: one for each choice of k fragments, in lexicographic order; none where there is no chunk to list.
struct RagPartLists {
  std::size_t depth = 0;               ///< chunks of each list: top_p, or all where there are fewer
  std::vector<std::uint32_t> subsets;  ///< [lists] bit i: fragment i
  std::vector<RagPartEntry> entries;   ///< [lists, depth], best first, equal scores by ascending id

  [[nodiscard]] std::span<const RagPartEntry> list(std::size_t index) const {
    return std::span(entries).subspan(index * depth, depth);
  }
};

/// What one query found.
struct RagPartRanking {
  std::vector<RagPartHit> hits;  ///< best first, at most top_p
  std::uint64_t lists = 0;       ///< C(N, k)
  bool drawn = false;            ///< the intersection was empty: `hits` are drawn from the union, in order of the draw
  std::vector<RagPartVote> voted;  ///< every chunk of any list, by votes, mean score and id
  RagPartLists all_lists;          ///< with keep_lists
};

struct RagPartIndexOptions {
  /// Divide each mix's score by the norm of its mean (cosine). A mix whose mean is zero has score 0.
  bool renormalise = false;
};

/// RAGPart (the paper's section 3.1) over one snapshot of fragment vectors, N rows a chunk, in one pass.
///
/// The result is exactly that of building C(N, k) databases of averaged embeddings, taking the top p of each and
/// counting votes, but nothing of that is built: a scan over 8-bit codes bounds for each chunk its best and its worst
/// mix, only chunks whose best mix may reach some list are scored exactly, and only these meet the lists. The inner
/// products are those of DenseIndex (its canonical row score), so results depend neither on threads nor on the batch.
/// docs/defences/ragpart.md says what the method stops and what it cannot.
///
/// Immutable, thread-safe.
class RagPartIndex {
 public:
  /// Reads each row once. `previous` (may be null): an index of an earlier snapshot of the same vectors, whose codes
  /// are taken over. Error: InvalidArgument for more than 20 rows a chunk; what `QuantisedVectors::create` says.
  [[nodiscard]] static Result<std::unique_ptr<RagPartIndex>> create(std::shared_ptr<const VectorSnapshot> snapshot,
                                                                    const RagPartIndexOptions& options,
                                                                    const ThreadPool& pool,
                                                                    const RagPartIndex* previous = nullptr);

  [[nodiscard]] const VectorSnapshot& snapshot() const noexcept { return codes_->snapshot(); }
  [[nodiscard]] const QuantisedVectors& codes() const noexcept { return *codes_; }
  [[nodiscard]] int fragments() const noexcept {
    return codes_->rows_per_chunk();
  }  ///< N; 0 where there are no vectors
  [[nodiscard]] bool renormalise() const noexcept { return codes_->options().sum_norms; }

  /// One ranking for each row of `queries` [n, dimension]. Only chunks of `allowed` count (null: all), and they are
  /// left out before any list is made. Where there are fewer than top_p, every list has them all. Error:
  /// InvalidArgument for a query that is not finite (names its index), another dimension, k outside [1, N], a negative
  /// top_p; Limit for too many entries with keep_lists; what `VectorSnapshot::read_rows` says.
  [[nodiscard]] Result<std::vector<RagPartRanking>> search(std::span<const float> queries, std::size_t dimension,
                                                           const RagPartSearchOptions& options, const ChunkSet* allowed,
                                                           const ThreadPool& pool) const;

 private:
  explicit RagPartIndex(std::shared_ptr<const QuantisedVectors> codes) : codes_(std::move(codes)) {}
  std::shared_ptr<const QuantisedVectors> codes_;
};

}  // namespace casemate
