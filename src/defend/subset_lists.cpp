#include "defend/subset_lists.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <type_traits>

namespace casemate {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// Longer lists are cut by selection, shorter ones by insertion.
constexpr std::size_t kInsertionDepth = 32;

/// All choices that begin with the same one or two fragments: a unit of work.
struct Prefix {
  std::size_t first = 0;
  std::size_t second = 0;  ///< unused where k = 1
  std::size_t rank = 0;    ///< of the first choice with this prefix, in lexicographic order
};

std::vector<Prefix> prefixes(std::size_t n, std::size_t k) {
  std::vector<Prefix> out;
  std::size_t rank = 0;
  for (std::size_t a = 0; a + k <= n; ++a) {
    if (k == 1) {
      out.push_back({a, 0, rank++});
      continue;
    }
    for (std::size_t b = a + 1; b + k - 1 <= n; ++b) {
      out.push_back({a, b, rank});
      rank += subset_count(n - b - 1, k - 2);
    }
  }
  return out;
}

/// Goes over the choices of some prefixes. Score is std::int64_t (sums) or double (sums divided by norms).
template <typename Score>
class Walk {
 public:
  static constexpr bool kDivided = std::is_same_v<Score, double>;

  Walk(const ScoredChunks& chunks, std::size_t k, std::size_t depth, RagPartLists* lists)
      : chunks_(chunks),
        n_(chunks.fragments),
        m_(chunks.size()),
        k_(k),
        depth_(depth),
        lists_(lists),
        sums_(k * m_),
        squares_(kDivided ? k * m_ : 0),
        scores_(kDivided ? m_ : 0),
        chosen_(k),
        order_(depth > kInsertionDepth ? m_ : 0),
        votes_(m_, 0) {
    best_.reserve(depth);
  }

  void walk(const Prefix& prefix) {
    rank_ = prefix.rank;
    choose(0, prefix.first);
    if (k_ == 1) return leaf();
    choose(1, prefix.second);
    if (k_ == 2) return leaf();
    descend(2, prefix.second + 1);
  }

  [[nodiscard]] const std::vector<std::uint32_t>& votes() const { return votes_; }
  /// The smallest last score of any list; the largest number where there was no full one.
  [[nodiscard]] Score lowest() const { return lowest_; }
  [[nodiscard]] bool full() const { return depth_ <= m_; }

 private:
  void descend(std::size_t level, std::size_t first) {
    for (std::size_t j = first; j + (k_ - level) <= n_; ++j) {
      choose(level, j);
      if (level + 1 == k_) {
        leaf();
      } else {
        descend(level + 1, j + 1);
      }
    }
  }

  /// Adds fragment j to the `level` fragments chosen so far.
  void choose(std::size_t level, std::size_t j) {
    chosen_[level] = j;
    const std::int64_t* add = chunks_.sums.data() + j * m_;
    const std::int64_t* from = level > 0 ? sums_.data() + (level - 1) * m_ : nullptr;
    std::int64_t* to = sums_.data() + level * m_;
    for (std::size_t i = 0; i < m_; ++i) to[i] = (from != nullptr ? from[i] : 0) + add[i];
    if constexpr (kDivided) {
      double* square = squares_.data() + level * m_;
      const double* own = chunks_.gram.data() + (j * n_ + j) * m_;
      for (std::size_t i = 0; i < m_; ++i) square[i] = (level > 0 ? square[i - m_] : 0.0) + own[i];
      // In order of the fragments, so that a choice has one norm wherever it is computed.
      for (std::size_t l = 0; l < level; ++l) {
        const double* with = chunks_.gram.data() + (chosen_[l] * n_ + j) * m_;
        for (std::size_t i = 0; i < m_; ++i) square[i] += 2 * with[i];
      }
    }
  }

  void leaf() {
    const Score* scores = nullptr;
    if constexpr (kDivided) {
      const double* squares = squares_.data() + (k_ - 1) * m_;
      const std::int64_t* sums = sums_.data() + (k_ - 1) * m_;
      for (std::size_t i = 0; i < m_; ++i)
        scores_[i] = squares[i] > 0 ? static_cast<double>(sums[i]) * kRagPartUnit / std::sqrt(squares[i]) : 0.0;
      scores = scores_.data();
    } else {
      scores = sums_.data() + (k_ - 1) * m_;
    }
    if (depth_ > kInsertionDepth) {
      select(scores);
    } else {
      insert(scores);
    }
    for (const std::uint32_t i : best_) ++votes_[i];
    if (full()) lowest_ = std::min(lowest_, scores[best_.back()]);
    if (lists_ != nullptr) keep(scores);
    ++rank_;
  }

  /// The best `depth_` in order. Chunks come by ascending id, so an equal score never displaces an earlier one.
  void insert(const Score* scores) {
    best_.clear();
    std::size_t i = 0;
    for (; i < m_ && best_.size() < depth_; ++i) place(scores, i);
    if (i == m_) return;
    Score last = scores[best_.back()];
    for (; i < m_; ++i) {
      if (!(scores[i] > last)) continue;
      best_.pop_back();
      place(scores, i);
      last = scores[best_.back()];
    }
  }

  void place(const Score* scores, std::size_t i) {
    auto at = best_.end();
    while (at != best_.begin() && scores[i] > scores[*(at - 1)]) --at;
    best_.insert(at, static_cast<std::uint32_t>(i));
  }

  void select(const Score* scores) {
    for (std::size_t i = 0; i < m_; ++i) order_[i] = static_cast<std::uint32_t>(i);
    const auto end = order_.begin() + static_cast<std::ptrdiff_t>(std::min(depth_, m_));
    std::partial_sort(order_.begin(), end, order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
    });
    best_.assign(order_.begin(), end);
  }

  void keep(const Score* scores) {
    std::uint32_t subset = 0;
    for (const std::size_t j : chosen_) subset |= 1U << j;
    lists_->subsets[rank_] = subset;
    for (std::size_t place = 0; place < lists_->depth; ++place) {
      RagPartEntry& entry = lists_->entries[rank_ * lists_->depth + place];
      entry.chunk = chunks_.ids[best_[place]];
      if constexpr (kDivided) {
        entry.score = scores[best_[place]];
      } else {
        entry.sum = scores[best_[place]];
        entry.score = static_cast<double>(entry.sum) * kRagPartUnit / static_cast<double>(k_);
      }
    }
  }

  const ScoredChunks& chunks_;
  std::size_t n_;
  std::size_t m_;
  std::size_t k_;
  std::size_t depth_;
  RagPartLists* lists_;
  std::vector<std::int64_t> sums_;  ///< [k, m]: of the first 1, 2, ... chosen fragments
  std::vector<double> squares_;     ///< [k, m]: squared norms of their sums
  std::vector<double> scores_;
  std::vector<std::size_t> chosen_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> best_;
  std::vector<std::uint32_t> votes_;
  std::size_t rank_ = 0;
  Score lowest_ = std::numeric_limits<Score>::max();
};

/// The float that is surely not above a score.
float rounded_down(double score) {
  const auto largest = static_cast<double>(std::numeric_limits<float>::max());
  return std::nextafter(static_cast<float>(std::clamp(score * (1 - (score > 0 ? 1e-12 : -1e-12)), -largest, largest)),
                        -kInfinity);
}

template <typename Score>
SubsetVotes vote(const ScoredChunks& chunks, std::size_t k, std::size_t depth, RagPartLists* lists,
                 const ThreadPool& pool) {
  const std::vector<Prefix> all = prefixes(chunks.fragments, k);
  // A few units a thread; one where the work is not worth sharing.
  const std::size_t lists_here = subset_count(chunks.fragments, k);
  const std::size_t units =
      lists_here * chunks.size() < 50'000 ? 1 : std::min(all.size(), static_cast<std::size_t>(pool.threads()) * 8);
  SubsetVotes out;
  out.votes.assign(chunks.size(), 0);
  Score lowest = std::numeric_limits<Score>::max();
  bool full = false;
  std::mutex mutex;
  pool.parallel_for(units, [&](std::size_t unit, int) {
    Walk<Score> walk(chunks, k, depth, lists);
    for (std::size_t i = unit; i < all.size(); i += units) walk.walk(all[i]);
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < chunks.size(); ++i) out.votes[i] += walk.votes()[i];
    lowest = std::min(lowest, walk.lowest());
    full = walk.full();
  });
  if (!full) {
    out.lowest = -kInfinity;
  } else if constexpr (std::is_same_v<Score, double>) {
    out.lowest = rounded_down(lowest);
  } else {
    out.lowest = rounded_down(static_cast<double>(lowest) * kRagPartUnit);
  }
  return out;
}

}  // namespace

std::uint32_t subset_count(std::size_t n, std::size_t k) noexcept {
  if (k > n) return 0;
  std::uint64_t count = 1;
  for (std::size_t i = 1; i <= k; ++i) count = count * (n - i + 1) / i;
  return static_cast<std::uint32_t>(count);
}

SubsetVotes vote_over_subsets(const ScoredChunks& chunks, std::size_t k, std::size_t depth, RagPartLists* lists,
                              const ThreadPool& pool) {
  if (lists != nullptr) {
    lists->depth = std::min(depth, chunks.size());
    lists->subsets.assign(subset_count(chunks.fragments, k), 0);
    lists->entries.assign(lists->subsets.size() * lists->depth, RagPartEntry());
  }
  return chunks.gram.empty() ? vote<std::int64_t>(chunks, k, depth, lists, pool)
                             : vote<double>(chunks, k, depth, lists, pool);
}

}  // namespace casemate
