// A token bucket for each key.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace casemate::server {

/// Thread-safe. A bucket holds a minute's worth of requests at most, so that bursts pass and the mean is kept.
class RateLimiter {
 public:
  /// `per_minute` <= 0: no limit.
  explicit RateLimiter(int per_minute) : per_minute_(per_minute) {}
  void set(int per_minute) { per_minute_ = per_minute; }
  /// Nothing where the request may go on; else how long until one may.
  [[nodiscard]] std::optional<std::chrono::seconds> take(const std::string& key,
                                                         std::chrono::steady_clock::time_point now);

 private:
  struct Bucket {
    double tokens = 0;
    std::chrono::steady_clock::time_point filled;
  };
  std::atomic<int> per_minute_;
  std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;  ///< of keys that exist, so it stays small
};

}  // namespace casemate::server
