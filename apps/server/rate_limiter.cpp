#include "rate_limiter.h"

#include <algorithm>
#include <cmath>

namespace casemate::server {

std::optional<std::chrono::seconds> RateLimiter::take(const std::string& key,
                                                      std::chrono::steady_clock::time_point now) {
  const int per_minute = per_minute_;
  if (per_minute <= 0) return std::nullopt;
  const double a_second = per_minute / 60.0;
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = buckets_.try_emplace(key, Bucket{static_cast<double>(per_minute), now});
  Bucket& bucket = found->second;
  const std::chrono::duration<double> since = now - bucket.filled;
  bucket.tokens = std::min(static_cast<double>(per_minute), bucket.tokens + std::max(0.0, since.count()) * a_second);
  bucket.filled = now;
  if (bucket.tokens >= 1) {
    bucket.tokens -= 1;
    return std::nullopt;
  }
  return std::chrono::seconds(static_cast<std::int64_t>(std::ceil((1 - bucket.tokens) / a_second)));
}

}  // namespace casemate::server
