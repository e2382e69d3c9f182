// testing/fake_clock.h
#pragma once

#include <atomic>

#include "casemate/core/clock.h"

namespace casemate::testing {

/// A clock that stands still until it is told to move; sleeping moves it. Thread-safe.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(std::int64_t unix_seconds = 1'700'000'000) : start_(unix_seconds) {}

  [[nodiscard]] std::chrono::nanoseconds now() const override { return std::chrono::nanoseconds(passed_.load()); }
  [[nodiscard]] std::int64_t unix_seconds() const override { return start_ + passed_.load() / 1'000'000'000; }
  void sleep_for(std::chrono::nanoseconds duration) const override { passed_ += duration.count(); }
  void advance(std::chrono::nanoseconds duration) { passed_ += duration.count(); }

 private:
  std::int64_t start_;
  mutable std::atomic<std::int64_t> passed_{0};
};

}  // namespace casemate::testing
