// tests/support/stopping_progress.h
#pragma once

#include <stop_token>
#include <string_view>

#include "casemate/core/progress.h"

namespace casemate::test {

/// Asks to stop when a number of updates have been reported.
class StoppingProgress final : public Progress {
 public:
  explicit StoppingProgress(int updates) : left_(updates) {}
  void begin(std::string_view, std::uint64_t, std::string_view) override {}
  void update(std::uint64_t) override {
    if (--left_ == 0) stop.request_stop();
  }
  void note(std::string_view) override {}
  void end() override {}
  std::stop_source stop;

 private:
  int left_;
};

}  // namespace casemate::test
