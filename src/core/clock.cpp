#include "casemate/core/clock.h"

#include <cstdio>
#include <ctime>
#include <thread>

namespace casemate {
namespace {

class SystemClock final : public Clock {
 public:
  std::chrono::nanoseconds now() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch());
  }
  std::int64_t unix_seconds() const override {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  void sleep_for(std::chrono::nanoseconds duration) const override { std::this_thread::sleep_for(duration); }
};

}  // namespace

const Clock& Clock::system() {
  static const SystemClock clock;
  return clock;
}

std::string format_utc(std::int64_t unix_seconds) {
  const auto time = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  if (gmtime_r(&time, &parts) == nullptr) return "invalid time";
  char buffer[40];
  if (std::strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) return "invalid time";
  return buffer;
}

}  // namespace casemate
