#include "retrieve/quantised_scan.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <mutex>

#include "retrieve/bound_kernels.h"
#include "retrieve/nibble_kernels.h"
#include "retrieve/quantised_block.h"

namespace casemate {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// Groups of one unit of work: 2048 chunks.
constexpr std::size_t kGroupsPerTask = 128;
/// Queries whose sums are computed together while a group's codes are in the cache.
constexpr std::size_t kQueriesAtOnce = 32;
/// What underflow can add, and roundings of numbers near it.
constexpr float kUnderflow = 0x1p-100F;

/// A query in 8-bit codes.
struct QuantisedQuery {
  float scale = 0;
  float norm = 0;        ///< rounded up; infinity where products could overflow
  float error_norm = 0;  ///< of what the codes leave, rounded up
  std::int32_t code_sum = 0;
};

QuantisedQuery quantise(std::span<const float> query, std::int8_t* codes) {
  double largest = 0;
  double squares = 0;
  for (const float value : query) {
    const auto x = static_cast<double>(value);
    largest = std::max(largest, std::abs(x));
    squares += x * x;
  }
  QuantisedQuery out;
  out.scale = static_cast<float>(largest / 127);
  const auto step = static_cast<double>(out.scale);
  double error = 0;
  for (std::size_t i = 0; i < query.size(); ++i) {
    const auto x = static_cast<double>(query[i]);
    const double code = step > 0 ? std::clamp(std::nearbyint(x / step), -127.0, 127.0) : 0.0;
    codes[i] = static_cast<std::int8_t>(code);
    out.code_sum += static_cast<std::int32_t>(code);
    error += (x - step * code) * (x - step * code);
  }
  const auto up = [](double value) { return std::nextafter(static_cast<float>(value * (1 + 0x1p-17)), kInfinity); };
  const double norm = std::sqrt(squares);
  out.norm = norm <= 0x1p60 ? up(norm) : kInfinity;
  out.error_norm = norm <= 0x1p60 ? up(std::sqrt(error)) : kInfinity;
  return out;
}

/// What the threads share of one query.
class Progress {
 public:
  explicit Progress(std::size_t wanted) : wanted_(wanted) {}

  /// No chunk whose sums are all below this matters.
  [[nodiscard]] float floor() const { return floor_.load(std::memory_order_relaxed); }

  /// A chunk none of whose sums is below `lower`.
  void add_lower(float lower) {
    if (!(lower > floor())) return;
    const std::lock_guard lock(mutex_);
    if (lowest_.size() == wanted_) {
      if (!(lower > lowest_.front())) return;
      std::pop_heap(lowest_.begin(), lowest_.end(), std::greater<>());
      lowest_.pop_back();
    }
    lowest_.push_back(lower);
    std::push_heap(lowest_.begin(), lowest_.end(), std::greater<>());
    if (lowest_.size() == wanted_) floor_.store(lowest_.front(), std::memory_order_relaxed);
  }

  void add_candidates(const std::vector<ScanCandidate>& some) {
    const std::lock_guard lock(mutex_);
    candidates_.insert(candidates_.end(), some.begin(), some.end());
  }

  [[nodiscard]] std::vector<ScanCandidate> take() {
    std::erase_if(candidates_, [&](const ScanCandidate& one) { return one.upper < floor(); });
    std::sort(candidates_.begin(), candidates_.end(), [](const ScanCandidate& a, const ScanCandidate& b) {
      if (a.upper != b.upper) return a.upper > b.upper;
      return a.block != b.block ? a.block < b.block : a.position < b.position;
    });
    return std::move(candidates_);
  }

 private:
  std::size_t wanted_;
  std::atomic<float> floor_{-kInfinity};
  std::mutex mutex_;
  std::vector<float> lowest_;  ///< the `wanted_` largest lower bounds, the smallest in front
  std::vector<ScanCandidate> candidates_;
};

struct Task {
  std::size_t block = 0;
  std::size_t first = 0;
  std::size_t end = 0;
};

class Scan {
 public:
  Scan(const QuantisedVectors& vectors, std::span<const float> queries, const ScanOptions& options,
       const std::vector<std::vector<std::uint16_t>>& served)
      : blocks_(vectors.blocks()), served_(served), options_(options) {
    const auto d = static_cast<std::size_t>(vectors.dimension());
    rows_ = static_cast<std::size_t>(vectors.rows_per_chunk());
    count_ = queries.size() / d;
    stride_ = blocks_[0]->octets * kernels::kOctet;
    codes_.assign(count_ * stride_, 0);
    for (std::size_t q = 0; q < count_; ++q)
      queries_.push_back(quantise(queries.subspan(q * d, d), codes_.data() + q * stride_));
    base_.resize(blocks_.size() * count_);
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      for (std::size_t q = 0; q < count_; ++q) {
        double sum = 0;
        for (std::size_t i = 0; i < d; ++i)
          sum += static_cast<double>(queries[q * d + i]) * static_cast<double>(blocks_[b]->mean[i]);
        base_[b * count_ + q] = static_cast<float>(sum);
      }
      for (std::size_t first = 0; first < blocks_[b]->groups; first += kGroupsPerTask)
        tasks_.push_back({b, first, std::min(first + kGroupsPerTask, blocks_[b]->groups)});
    }
    for (std::size_t q = 0; q < count_; ++q) progress_.push_back(std::make_unique<Progress>(options.wanted));
  }

  [[nodiscard]] std::vector<std::vector<ScanCandidate>> run(const ThreadPool& pool) {
    pool.parallel_for(tasks_.size(), [&](std::size_t i, int) { run_task(tasks_[i]); });
    std::vector<std::vector<ScanCandidate>> out;
    for (const auto& progress : progress_) out.push_back(progress->take());
    return out;
  }

 private:
  /// Buffers of one task.
  struct Buffers {
    explicit Buffers(std::size_t rows, std::size_t queries)
        : high(queries * rows * kernels::kGroupChunks),
          low(rows * kernels::kGroupChunks),
          upper(rows * kernels::kGroupChunks),
          lower(rows * kernels::kGroupChunks) {}
    AlignedArray<std::int32_t> high;
    AlignedArray<std::int32_t> low;
    AlignedArray<float> upper;
    AlignedArray<float> lower;
    float shortest[kernels::kGroupChunks] = {};  ///< with by_norm: a lower bound of the norm of any sum of k rows
  };

  void run_task(const Task& task) {
    const QuantisedBlock& block = *blocks_[task.block];
    const kernels::NibbleKernel& kernel = kernels::nibble_kernel();
    Buffers buffers(rows_, std::min(count_, kQueriesAtOnce));
    std::vector<std::vector<ScanCandidate>> found(count_);
    for (std::size_t group = task.first; group < task.end; ++group) {
      const std::uint16_t served = served_[task.block][group];
      if (served == 0) continue;
      if (options_.by_norm) {
        kernels::smallest_sums(block.along.data() + group * block.lane_stride(), rows_, options_.combination,
                               buffers.shortest);
      }
      const std::uint8_t* plane = block.high.data() + group * block.plane_stride();
      for (std::size_t first = 0; first < count_; first += kQueriesAtOnce) {
        const std::size_t queries = std::min(kQueriesAtOnce, count_ - first);
        kernel.dots(plane, rows_, block.octets, codes_.data() + first * stride_, queries, buffers.high.data());
        for (std::size_t q = 0; q < queries; ++q) {
          const std::int32_t* high = buffers.high.data() + q * rows_ * kernels::kGroupChunks;
          const unsigned left = coarse(task.block, group, first + q, high, buffers) & served;
          if (left != 0) fine(task.block, group, first + q, high, left, buffers, found[first + q]);
        }
      }
    }
    for (std::size_t q = 0; q < count_; ++q) {
      if (!found[q].empty()) progress_[q]->add_candidates(found[q]);
    }
  }

  [[nodiscard]] kernels::BoundTerms terms(std::size_t block, std::size_t group, std::size_t q) const {
    const QuantisedQuery& query = queries_[q];
    kernels::BoundTerms terms;
    terms.base = base_[block * count_ + q];
    terms.query_scale = query.scale;
    terms.query_norm = query.norm;
    terms.slack =
        query.error_norm * blocks_[block]->code_norm.data()[group] * (1 + 0x1p-20F) + options_.rounding + kUnderflow;
    terms.clamp = options_.clamp;
    return terms;
  }

  /// The upper bound of any sum of k rows of each chunk, into `sums`.
  void upper_sums(const Buffers& buffers, float* sums) const {
    kernels::largest_sums(buffers.upper.data(), rows_, options_.combination, sums);
    if (!options_.by_norm) return;
    for (std::size_t c = 0; c < kernels::kGroupChunks; ++c) {
      if (sums[c] <= 0) {
        sums[c] = 0;
      } else {
        sums[c] = buffers.shortest[c] > 0 ? sums[c] / buffers.shortest[c] * (1 + 0x1p-20F) : kInfinity;
      }
    }
  }

  /// Bits of the chunks that may matter.
  [[nodiscard]] static unsigned not_below(const float* sums, float floor) {
    unsigned bits = 0;
    for (unsigned c = 0; c < kernels::kGroupChunks; ++c) bits |= (sums[c] < floor ? 0U : 1U) << c;
    return bits;
  }

  [[nodiscard]] unsigned coarse(std::size_t block, std::size_t group, std::size_t q, const std::int32_t* high,
                                Buffers& buffers) const {
    const QuantisedBlock& from = *blocks_[block];
    const std::size_t at = group * from.lane_stride();
    kernels::BoundTerms terms_here = terms(block, group, q);
    terms_here.offset = 120 * queries_[q].code_sum;
    kernels::score_bounds(terms_here, high, nullptr, from.scale.data() + at, from.coarse_error.data() + at, rows_,
                          buffers.upper.data(), nullptr);
    float sums[kernels::kGroupChunks];
    upper_sums(buffers, sums);
    return not_below(sums, progress_[q]->floor());
  }

  void fine(std::size_t block, std::size_t group, std::size_t q, const std::int32_t* high, unsigned left,
            Buffers& buffers, std::vector<ScanCandidate>& found) const {
    const QuantisedBlock& from = *blocks_[block];
    kernels::nibble_kernel().dots(from.low.data() + group * from.plane_stride(), rows_, from.octets,
                                  codes_.data() + q * stride_, 1, buffers.low.data());
    const std::size_t at = group * from.lane_stride();
    kernels::BoundTerms terms_here = terms(block, group, q);
    terms_here.offset = 127 * queries_[q].code_sum;
    terms_here.half = 0.5F * static_cast<float>(queries_[q].code_sum);
    kernels::score_bounds(terms_here, high, buffers.low.data(), from.scale.data() + at, from.fine_error.data() + at,
                          rows_, buffers.upper.data(), buffers.lower.data());
    float upper[kernels::kGroupChunks];
    float lower[kernels::kGroupChunks];
    upper_sums(buffers, upper);
    kernels::smallest_sums(buffers.lower.data(), rows_, options_.combination, lower);
    left &= not_below(upper, progress_[q]->floor());
    for (; left != 0; left &= left - 1) {
      const auto c = static_cast<std::size_t>(std::countr_zero(left));
      progress_[q]->add_lower(options_.by_norm ? lower_by_norm(lower[c], buffers.shortest[c], from, group) : lower[c]);
      found.push_back(
          {upper[c], static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(group * kernels::kGroupChunks + c)});
    }
  }

  [[nodiscard]] float lower_by_norm(float lower, float shortest, const QuantisedBlock& block, std::size_t group) const {
    // Where a sum of rows may vanish its score is 0 by definition.
    if (!(shortest > 0)) return lower >= 0 ? 0.0F : -kInfinity;
    const float longest = block.largest_norm.data()[group] * static_cast<float>(options_.combination);
    const float bound = lower >= 0 ? lower / longest * (1 - 0x1p-20F) : lower / shortest * (1 + 0x1p-20F);
    return bound == bound ? bound : -kInfinity;
  }

  std::span<const std::shared_ptr<const QuantisedBlock>> blocks_;
  const std::vector<std::vector<std::uint16_t>>& served_;
  ScanOptions options_;
  std::size_t rows_ = 0;
  std::size_t count_ = 0;
  std::size_t stride_ = 0;
  std::vector<std::int8_t> codes_;  ///< [queries, padded dimension]
  std::vector<QuantisedQuery> queries_;
  std::vector<float> base_;  ///< [blocks, queries]: inner product with the block's mean
  std::vector<Task> tasks_;
  std::vector<std::unique_ptr<Progress>> progress_;
};

}  // namespace

std::vector<std::vector<ScanCandidate>> quantised_scan(const QuantisedVectors& vectors, std::span<const float> queries,
                                                       const ScanOptions& options,
                                                       const std::vector<std::vector<std::uint16_t>>& served,
                                                       const ThreadPool& pool) {
  if (vectors.blocks().empty() || options.wanted == 0 || vectors.dimension() == 0)
    return std::vector<std::vector<ScanCandidate>>(
        vectors.dimension() > 0 ? queries.size() / static_cast<std::size_t>(vectors.dimension()) : 0);
  return Scan(vectors, queries, options, served).run(pool);
}

}  // namespace casemate
