#include "casemate/defend/ragpart_index.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>

#include "casemate/core/hash.h"
#include "casemate/core/random.h"
#include "defend/subset_lists.h"
#include "retrieve/dense_kernels.h"
#include "retrieve/quantised_scan.h"
#include "retrieve/query_loop.h"

namespace casemate {
namespace {

constexpr std::size_t kMostEntries = std::size_t{1} << 24U;
/// How far rounding to kRagPartUnit can move the score of a fragment.
constexpr float kRounding = 0x1p-40F;

/// A chunk scored exactly.
struct Scored {
  ChunkId id = 0;
  std::vector<float> scores;       ///< [N]
  std::vector<std::int64_t> sums;  ///< [N] in kRagPartUnit
  std::vector<double> gram;        ///< [N, N] where scores are divided
  std::int64_t total = 0;

  /// The largest sum of k fragments, in kRagPartUnit.
  [[nodiscard]] std::int64_t best(std::size_t k) const {
    std::vector<std::int64_t> sorted = sums;
    std::partial_sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(k), sorted.end(), std::greater<>());
    return std::accumulate(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(k), std::int64_t{0});
  }
};

/// Not a number (infinity minus infinity) counts as the smallest score.
std::int64_t on_grid(float score) {
  const auto bounded = static_cast<double>(
      std::isnan(score) ? -kRagPartLargestScore : std::clamp(score, -kRagPartLargestScore, kRagPartLargestScore));
  return std::llrint(bounded / kRagPartUnit);
}

/// One query over the chunks that the scan left.
class QuerySearch {
 public:
  QuerySearch(const QuantisedVectors& codes, std::span<const float> query, const RagPartSearchOptions& options,
              std::size_t depth)
      : codes_(codes),
        query_(query),
        options_(options),
        n_(static_cast<std::size_t>(codes.rows_per_chunk())),
        k_(static_cast<std::size_t>(options.combination)),
        depth_(depth) {}

  Result<RagPartRanking> run(const std::vector<ScanCandidate>& candidates, const ThreadPool& pool) {
    RagPartRanking ranking;
    ranking.lists = subset_count(n_, k_);
    SubsetVotes votes;
    ScoredChunks chunks;
    // The most promising first: the lists of these alone rule out most of the rest.
    std::size_t taken = 0;
    std::size_t next = std::min(candidates.size(), std::max<std::size_t>(32, 4 * depth_));
    while (true) {
      if (const Status scored = score(std::span(candidates).subspan(taken, next), pool); !scored) return scored.error();
      taken += next;
      if (taken > next) drop_below(votes.lowest);
      chunks = side_by_side();
      votes = vote_over_subsets(chunks, k_, depth_, nullptr, pool);
      const auto end = std::partition_point(candidates.begin() + static_cast<std::ptrdiff_t>(taken), candidates.end(),
                                            [&](const ScanCandidate& one) { return !(one.upper < votes.lowest); });
      const auto left = static_cast<std::size_t>(end - candidates.begin()) - taken;
      if (left == 0) break;
      next = std::min(left, std::max<std::size_t>(256, 2 * scored_.size()));
    }
    if (options_.keep_lists) votes = vote_over_subsets(chunks, k_, depth_, &ranking.all_lists, pool);
    rank(votes.votes, ranking);
    return ranking;
  }

 private:
  Status score(std::span<const ScanCandidate> candidates, const ThreadPool& pool) {
    const std::size_t before = scored_.size();
    scored_.resize(before + candidates.size());
    std::mutex mutex;
    std::optional<Error> failed;
    constexpr std::size_t kAtOnce = 16;
    pool.parallel_for((candidates.size() + kAtOnce - 1) / kAtOnce, [&](std::size_t unit, int) {
      const std::size_t end = std::min(candidates.size(), (unit + 1) * kAtOnce);
      for (std::size_t i = unit * kAtOnce; i < end; ++i) {
        const Status done = score_one(candidates[i], scored_[before + i]);
        if (done) continue;
        const std::lock_guard lock(mutex);
        failed = done.error();
      }
    });
    if (failed) return *failed;
    return {};
  }

  Status score_one(const ScanCandidate& candidate, Scored& out) const {
    const VectorSnapshot& snapshot = codes_.snapshot();
    const std::size_t d = query_.size();
    std::vector<float> rows(n_ * d);
    if (const Status read = snapshot.read_rows(candidate.block, candidate.position, 1, rows); !read) return read;
    out.id = snapshot.blocks()[candidate.block].chunk_ids[candidate.position];
    out.scores.resize(n_);
    kernels::row_scores(query_.data(), rows.data(), n_, d, out.scores.data());
    out.sums.resize(n_);
    std::transform(out.scores.begin(), out.scores.end(), out.sums.begin(), on_grid);
    out.total = std::accumulate(out.sums.begin(), out.sums.end(), std::int64_t{0});
    if (!codes_.options().sum_norms) return {};
    out.gram.resize(n_ * n_);
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = i; j < n_; ++j) {
        double sum = 0;
        for (std::size_t l = 0; l < d; ++l)
          sum += static_cast<double>(rows[i * d + l]) * static_cast<double>(rows[j * d + l]);
        out.gram[i * n_ + j] = out.gram[j * n_ + i] = sum;
      }
    }
    return {};
  }

  /// Chunks that cannot be in any list need not meet the lists again.
  void drop_below(float lowest) {
    if (codes_.options().sum_norms) return;
    const auto bound = static_cast<double>(lowest);
    std::erase_if(scored_, [&](const Scored& one) { return static_cast<double>(one.best(k_)) * kRagPartUnit < bound; });
  }

  /// Of chunks whose fragments all score the same only the first `depth_` can be in a list: a flood of copies must not
  /// make every list long.
  void drop_copies() {
    std::map<std::pair<std::vector<std::int64_t>, std::vector<double>>, std::size_t> seen;
    std::erase_if(scored_, [&](const Scored& one) { return seen[{one.sums, one.gram}]++ >= depth_; });
  }

  ScoredChunks side_by_side() {
    std::sort(scored_.begin(), scored_.end(), [](const Scored& a, const Scored& b) { return a.id < b.id; });
    drop_copies();
    ScoredChunks out;
    out.fragments = n_;
    const std::size_t m = scored_.size();
    out.sums.resize(n_ * m);
    if (codes_.options().sum_norms) out.gram.resize(n_ * n_ * m);
    for (std::size_t i = 0; i < m; ++i) {
      out.ids.push_back(scored_[i].id);
      for (std::size_t r = 0; r < n_; ++r) out.sums[r * m + i] = scored_[i].sums[r];
      for (std::size_t r = 0; r < scored_[i].gram.size(); ++r) out.gram[r * m + i] = scored_[i].gram[r];
    }
    return out;
  }

  void rank(const std::vector<std::uint32_t>& votes, RagPartRanking& ranking) const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < scored_.size(); ++i) {
      if (votes[i] > 0) order.push_back(i);
    }
    // `scored_` is by id, and the sort is stable.
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return votes[a] != votes[b] ? votes[a] > votes[b] : scored_[a].total > scored_[b].total;
    });
    for (const std::size_t i : order) ranking.voted.push_back({scored_[i].id, votes[i]});
    if (options_.aggregation == RagPartAggregation::kIntersection) {
      const auto in_all = [&](std::size_t i) { return votes[i] == ranking.lists; };
      ranking.drawn = std::none_of(order.begin(), order.end(), in_all) && !order.empty();
      if (ranking.drawn) {
        draw(order);
      } else {
        std::erase_if(order, [&](std::size_t i) { return !in_all(i); });
      }
    }
    if (order.size() > depth_) order.resize(depth_);
    for (const std::size_t i : order) {
      ranking.hits.push_back({scored_[i].id, votes[i],
                              static_cast<double>(scored_[i].total) * kRagPartUnit / static_cast<double>(n_),
                              scored_[i].scores});
    }
  }

  /// The first `depth_` of a random order of the union. It depends on the seed and the query alone.
  void draw(std::vector<std::size_t>& order) const {
    std::sort(order.begin(), order.end());
    const Digest digest = blake2b(std::string_view(reinterpret_cast<const char*>(query_.data()), query_.size_bytes()));
    RandomStream random(options_.seed, "ragpart/intersection/" + to_hex(digest));
    for (std::size_t i = 0; i < std::min(depth_, order.size()); ++i)
      std::swap(order[i], order[i + static_cast<std::size_t>(random.below(order.size() - i))]);
  }

  const QuantisedVectors& codes_;
  std::span<const float> query_;
  const RagPartSearchOptions& options_;
  std::size_t n_;
  std::size_t k_;
  std::size_t depth_;
  std::vector<Scored> scored_;
};

std::size_t count_served(const std::vector<std::vector<std::uint16_t>>& served) {
  std::size_t count = 0;
  for (const auto& block : served) {
    for (const std::uint16_t bits : block) count += static_cast<std::size_t>(std::popcount(bits));
  }
  return count;
}

}  // namespace

std::string_view ragpart_aggregation_name(RagPartAggregation aggregation) noexcept {
  return aggregation == RagPartAggregation::kIntersection ? "intersection" : "majority";
}

Result<RagPartAggregation> parse_ragpart_aggregation(std::string_view name) {
  for (const auto aggregation : {RagPartAggregation::kMajority, RagPartAggregation::kIntersection}) {
    if (ragpart_aggregation_name(aggregation) == name) return aggregation;
  }
  return Error{ErrorCode::kInvalidOption, "aggregation \"" + UntrustedText(std::string(name)).for_log() +
                                              "\" is not one of majority, intersection"};
}

Result<std::unique_ptr<RagPartIndex>> RagPartIndex::create(std::shared_ptr<const VectorSnapshot> snapshot,
                                                           const RagPartIndexOptions& options, const ThreadPool& pool,
                                                           const RagPartIndex* previous) {
  for (const VectorBlock& block : snapshot->blocks()) {
    if (block.rows_per_chunk > kMaxRagPartFragments) {
      return Error{ErrorCode::kInvalidArgument, block.file + ": has " + std::to_string(block.rows_per_chunk) +
                                                    " fragments a passage, RAGPart takes at most 20"};
    }
  }
  auto codes = QuantisedVectors::create(std::move(snapshot), QuantiseOptions{options.renormalise}, pool,
                                        previous != nullptr ? previous->codes_.get() : nullptr);
  if (!codes) return codes.error();
  return std::unique_ptr<RagPartIndex>(new RagPartIndex(*std::move(codes)));  // private constructor
}

Result<std::vector<RagPartRanking>> RagPartIndex::search(std::span<const float> queries, std::size_t dimension,
                                                         const RagPartSearchOptions& options, const ChunkSet* allowed,
                                                         const ThreadPool& pool) const {
  const auto bad = [](const std::string& what) { return Error{ErrorCode::kInvalidArgument, what}; };
  if (options.top_p < 0) return bad("top_p must be at least 0");
  if (dimension == 0 || queries.size() % dimension != 0) return bad("queries are not a whole number of vectors");
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (!std::isfinite(queries[i])) return bad("query " + std::to_string(i / dimension) + " is not finite");
  }
  const std::size_t count = queries.size() / dimension;
  std::vector<RagPartRanking> out(count);
  if (codes_->blocks().empty()) return out;
  if (dimension != static_cast<std::size_t>(codes_->dimension())) {
    return bad("a query has dimension " + std::to_string(dimension) + ", the fragments have " +
               std::to_string(codes_->dimension()));
  }
  if (options.combination < 1 || options.combination > fragments()) {
    return bad("the combination size k is " + std::to_string(options.combination) + ", it must be in 1 to " +
               std::to_string(fragments()) + ", the number of fragments");
  }
  std::vector<std::vector<std::uint16_t>> served;
  for (std::size_t b = 0; b < codes_->blocks().size(); ++b) served.push_back(codes_->served(b, allowed));
  ScanOptions scan;
  scan.combination = static_cast<std::size_t>(options.combination);
  scan.wanted = std::min(static_cast<std::size_t>(options.top_p), count_served(served));
  scan.clamp = kRagPartLargestScore;
  scan.rounding = kRounding;
  scan.by_norm = renormalise();
  const std::uint64_t lists = subset_count(static_cast<std::size_t>(fragments()), scan.combination);
  if (options.keep_lists && lists * scan.wanted > kMostEntries) {
    return Error{ErrorCode::kLimit, std::to_string(lists) + " lists of " + std::to_string(scan.wanted) +
                                        " passages are more than can be given (2^24 entries)"};
  }
  for (RagPartRanking& ranking : out) ranking.lists = lists;
  if (scan.wanted == 0) return out;
  const auto candidates = quantised_scan(*codes_, queries, scan, served, pool);
  return for_each_query(count, pool, [&](std::size_t q) {
    return QuerySearch(*codes_, queries.subspan(q * dimension, dimension), options, scan.wanted)
        .run(candidates[q], pool);
  });
}

}  // namespace casemate
