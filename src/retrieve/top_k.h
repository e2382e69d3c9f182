// src/retrieve/top_k.h
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "casemate/retrieve/dense_index.h"

namespace casemate {

/// Keeps the best `k` hits seen, by `ranks_before`.
class TopK {
 public:
  explicit TopK(std::size_t k) : k_(k) {}

  void add(const DenseHit& hit) {
    if (k_ == 0) return;
    if (heap_.size() < k_) {
      heap_.push_back(hit);
      std::push_heap(heap_.begin(), heap_.end(), ranks_before);
    } else if (ranks_before(hit, heap_.front())) {
      std::pop_heap(heap_.begin(), heap_.end(), ranks_before);
      heap_.back() = hit;
      std::push_heap(heap_.begin(), heap_.end(), ranks_before);
    }
  }

  /// No score below this can get in any more; -infinity while there is room.
  [[nodiscard]] float floor() const {
    return heap_.size() < k_ || k_ == 0 ? -std::numeric_limits<float>::infinity() : heap_.front().score;
  }
  [[nodiscard]] const std::vector<DenseHit>& unordered() const { return heap_; }
  [[nodiscard]] std::vector<DenseHit> sorted() && {
    std::sort(heap_.begin(), heap_.end(), ranks_before);
    return std::move(heap_);
  }

 private:
  std::size_t k_;
  std::vector<DenseHit> heap_;  ///< the worst kept hit is at the front
};

}  // namespace casemate
