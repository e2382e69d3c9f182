#include "retrieve/float_scan.h"

#include <atomic>
#include <cmath>
#include <mutex>

#include "retrieve/dense_kernels.h"
#include "retrieve/top_k.h"

namespace casemate {
namespace {

/// Rows of one unit of work: large enough to make hand-out cheap, small enough that two threads end together.
constexpr std::size_t kRowsPerTask = 2048;
/// Rows scored before they are looked at; stays in the first-level cache.
constexpr std::size_t kRowsAtOnce = 64;
/// From this many queries on the batch kernel is faster than one row scan a query.
constexpr std::size_t kBatchFrom = 5;

struct Task {
  std::size_t block = 0;
  std::size_t first = 0;
  std::size_t end = 0;
};

std::vector<Task> make_tasks(std::span<const VectorBlock> blocks) {
  std::vector<Task> tasks;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::size_t first = 0; first < blocks[b].chunks; first += kRowsPerTask) {
      tasks.push_back({b, first, std::min(first + kRowsPerTask, blocks[b].chunks)});
    }
  }
  return tasks;
}

/// The best floor that any thread has reached for one query; only ever rises.
class SharedFloor {
 public:
  [[nodiscard]] float get() const { return value_.load(std::memory_order_relaxed); }
  void raise(float floor) {
    float now = get();
    while (floor > now && !value_.compare_exchange_weak(now, floor, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<float> value_{-std::numeric_limits<float>::infinity()};
};

/// One search over one snapshot: work shared by the threads.
class Search {
 public:
  Search(const VectorSnapshot& snapshot, std::span<const float> queries, std::size_t d, std::size_t top_k,
         const ChunkSet* allowed)
      : blocks_(snapshot.blocks()),
        queries_(queries),
        d_(d),
        count_(queries.size() / d),
        results_(count_, TopK(top_k)),
        floors_(count_),
        top_k_(top_k) {
    masks_.resize(blocks_.size());
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (allowed != nullptr) masks_[b] = snapshot.mask(b, *allowed);
    }
  }

  void run_rows(const Task& task) {
    std::vector<TopK> best(count_, TopK(top_k_));
    const VectorBlock& block = blocks_[task.block];
    const std::span<const std::uint8_t> served = mask(task.block);
    float scores[kRowsAtOnce];
    for (std::size_t first = task.first; first < task.end; first += kRowsAtOnce) {
      const std::size_t rows = std::min(kRowsAtOnce, task.end - first);
      for (std::size_t q = 0; q < count_; ++q) {
        kernels::row_scores(queries_.data() + q * d_, block.rows.data() + first * d_, rows, d_, scores);
        const float floor = std::max(best[q].floor(), floors_[q].get());
        for (std::size_t r = 0; r < rows; ++r) {
          if (!(scores[r] < floor) && served[first + r] != 0)
            best[q].add({block.chunk_ids[first + r], ordered(scores[r])});
        }
      }
    }
    merge(best);
  }

  /// `packed` is [tiles][d, tile queries], `slack[q]` bounds the difference of fast and canonical score.
  void run_batch(const Task& task, std::span<const float> packed, std::span<const float> slack) {
    const std::size_t width = kernels::batch_tile_queries();
    const std::size_t height = kernels::batch_tile_rows();
    std::vector<TopK> best(count_, TopK(top_k_));
    std::vector<float> floors(packed.size() / d_);
    std::vector<float> scores(width * height);
    const VectorBlock& block = blocks_[task.block];
    const std::span<const std::uint8_t> served = mask(task.block);
    std::size_t first = task.first;
    for (; first + height <= task.end; first += height) {
      const float* rows = block.rows.data() + first * d_;
      for (std::size_t tile = 0; tile * width < count_; ++tile) {
        float* floor = floors.data() + tile * width;
        for (std::size_t q = 0; q < width; ++q) floor[q] = floor_of(tile * width + q, best, slack);
        if (!kernels::batch_tile(packed.data() + tile * width * d_, rows, d_, floor, scores.data())) continue;
        for (std::size_t r = 0; r < height; ++r) {
          if (served[first + r] == 0) continue;
          for (std::size_t q = 0; q < width && tile * width + q < count_; ++q) {
            // Not "below": a NaN must be looked at.
            if (!(scores[r * width + q] < floor[q])) score_again(block, first + r, tile * width + q, best);
          }
        }
      }
    }
    for (; first < task.end; ++first) {
      if (served[first] == 0) continue;
      for (std::size_t q = 0; q < count_; ++q) score_again(block, first, q, best);
    }
    merge(best);
  }

  [[nodiscard]] std::vector<std::vector<DenseHit>> take() {
    std::vector<std::vector<DenseHit>> out;
    for (TopK& result : results_) out.push_back(std::move(result).sorted());
    return out;
  }

 private:
  [[nodiscard]] std::span<const std::uint8_t> mask(std::size_t block) const {
    return masks_[block].empty() ? blocks_[block].live : std::span<const std::uint8_t>(masks_[block]);
  }

  [[nodiscard]] float floor_of(std::size_t q, const std::vector<TopK>& best, std::span<const float> slack) const {
    if (q >= count_) return std::numeric_limits<float>::infinity();
    return std::max(best[q].floor(), floors_[q].get()) - slack[q];
  }

  void score_again(const VectorBlock& block, std::size_t row, std::size_t q, std::vector<TopK>& best) {
    float score = 0;
    kernels::row_scores(queries_.data() + q * d_, block.rows.data() + row * d_, 1, d_, &score);
    const float before = best[q].floor();
    best[q].add({block.chunk_ids[row], ordered(score)});
    if (best[q].floor() > before) floors_[q].raise(best[q].floor());
  }

  void merge(const std::vector<TopK>& best) {
    const std::lock_guard lock(mutex_);
    for (std::size_t q = 0; q < count_; ++q) {
      for (const DenseHit& hit : best[q].unordered()) results_[q].add(hit);
      floors_[q].raise(results_[q].floor());
    }
  }

  std::span<const VectorBlock> blocks_;
  std::span<const float> queries_;
  std::size_t d_;
  std::size_t count_;
  std::vector<std::vector<std::uint8_t>> masks_;
  std::mutex mutex_;
  std::vector<TopK> results_;
  std::vector<SharedFloor> floors_;
  std::size_t top_k_;
};

double norm(std::span<const float> vector) {
  double squares = 0;
  for (const float x : vector) squares += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(squares);
}

/// 2 gamma_d ||q|| ||x|| rounded up: how far the fast and the canonical score of a pair can lie apart, plus the
/// rounding of subtracting it from a floor of at most ||q|| ||x||, plus what underflow can add.
float slack_of(std::size_t d, double query_norm, double largest_norm) {
  // Where a partial sum may overflow, the order of the sum decides whether it does, and no bound holds.
  if (query_norm * largest_norm > 0x1p120) return std::numeric_limits<float>::infinity();
  const double du = static_cast<double>(d) * 0x1p-24;
  const double gamma = du / (1 - du);
  const double bound =
      (2 * gamma + 0x1p-23) * query_norm * largest_norm * (1 + 1e-6) + static_cast<double>(d) * 0x1p-148;
  return std::nextafter(static_cast<float>(bound), std::numeric_limits<float>::infinity());
}

/// [tiles][d, tile queries], zeros where a tile is not full.
std::vector<float> pack_queries(std::span<const float> queries, std::size_t d) {
  const std::size_t width = kernels::batch_tile_queries();
  const std::size_t count = queries.size() / d;
  std::vector<float> packed((count + width - 1) / width * width * d, 0.0F);
  for (std::size_t q = 0; q < count; ++q) {
    float* tile = packed.data() + q / width * width * d;
    for (std::size_t i = 0; i < d; ++i) tile[i * width + q % width] = queries[q * d + i];
  }
  return packed;
}

}  // namespace

Result<std::vector<double>> largest_norms(const VectorSnapshot& snapshot, const ThreadPool& pool) {
  const std::span<const VectorBlock> blocks = snapshot.blocks();
  for (const VectorBlock& block : blocks) {
    if (block.rows.empty() && block.chunks > 0)
      return Error{ErrorCode::kInvalidArgument, block.file + ": a float scan needs its rows in memory"};
  }
  const std::vector<Task> tasks = make_tasks(blocks);
  std::vector<double> squares(tasks.size());
  pool.parallel_for(tasks.size(), [&](std::size_t i, int) {
    const auto d = static_cast<std::size_t>(blocks[tasks[i].block].dimension);
    squares[i] = kernels::largest_square_norm(blocks[tasks[i].block].rows.data() + tasks[i].first * d,
                                              tasks[i].end - tasks[i].first, d);
  });
  std::vector<double> norms(blocks.size(), 0.0);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    double& largest = norms[tasks[i].block];
    largest = std::max(largest, std::sqrt(squares[i]) * (1 + 1e-12));
  }
  return norms;
}

std::vector<std::vector<DenseHit>> float_scan(const VectorSnapshot& snapshot, std::span<const double> norms,
                                              std::span<const float> queries, std::size_t dimension, std::size_t top_k,
                                              const ChunkSet* allowed, const ThreadPool& pool) {
  const std::size_t count = queries.size() / dimension;
  Search search(snapshot, queries, dimension, top_k, allowed);
  const std::vector<Task> tasks = make_tasks(snapshot.blocks());
  if (count < kBatchFrom) {
    pool.parallel_for(tasks.size(), [&](std::size_t i, int) { search.run_rows(tasks[i]); });
    return search.take();
  }
  const std::vector<float> packed = pack_queries(queries, dimension);
  double largest = 0;
  for (const double each : norms) largest = std::max(largest, each);
  std::vector<float> slack(count);
  for (std::size_t q = 0; q < count; ++q)
    slack[q] = slack_of(dimension, norm(queries.subspan(q * dimension, dimension)), largest);
  pool.parallel_for(tasks.size(), [&](std::size_t i, int) { search.run_batch(tasks[i], packed, slack); });
  return search.take();
}

}  // namespace casemate
