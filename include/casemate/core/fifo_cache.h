// casemate/core/fifo_cache.h
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace casemate {

/// Values by key, at most so many: the one that was put first goes first. Thread-safe; copies go in and out.
template <typename Key, typename Value>
class FifoCache {
 public:
  /// 0 counts as 1.
  explicit FifoCache(std::size_t most) : most_(std::max<std::size_t>(most, 1)) {}

  [[nodiscard]] std::optional<Value> find(const Key& key) const {
    const std::lock_guard lock(mutex_);
    const auto known = values_.find(key);
    return known == values_.end() ? std::nullopt : std::optional<Value>(known->second);
  }

  /// In the place of a value under the same key, which keeps its age.
  void keep(const Key& key, Value value) {
    const std::lock_guard lock(mutex_);
    if (!values_.insert_or_assign(key, std::move(value)).second) return;
    oldest_first_.push_back(key);
    if (values_.size() <= most_) return;
    values_.erase(oldest_first_.front());
    oldest_first_.pop_front();
  }

  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return values_.size();
  }

 private:
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::map<Key, Value> values_;
  std::deque<Key> oldest_first_;
};

}  // namespace casemate
