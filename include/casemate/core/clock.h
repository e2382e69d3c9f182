// casemate/core/clock.h
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace casemate {

/// Time, so that tests can hold it still (testing/fake_clock.h). Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic; for durations and deadlines.
  [[nodiscard]] virtual std::chrono::nanoseconds now() const = 0;
  /// Seconds since 1970 UTC.
  [[nodiscard]] virtual std::int64_t unix_seconds() const = 0;
  virtual void sleep_for(std::chrono::nanoseconds duration) const = 0;

  [[nodiscard]] static const Clock& system();
};

/// "2026-11-29T21:52:24Z".
[[nodiscard]] std::string format_utc(std::int64_t unix_seconds);

}  // namespace casemate
