// src/attack/craft_progress.h
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "casemate/core/progress.h"

namespace casemate {

/// Tells how far the crafting of several documents side by side is, and what it may cost and did. Thread-safe.
class CraftProgress {
 public:
  explicit CraftProgress(Progress* progress) : progress_(progress) {}  ///< null: nobody is told

  /// `budget`: tokens that may go through the encoder.
  void begin(std::string_view attack, std::size_t documents, std::uint64_t iterations, std::uint64_t budget);
  void advance(std::uint64_t iterations);
  void spend(std::uint64_t forward_tokens, std::uint64_t backward_tokens);
  /// Says what was spent, and how long a document took.
  void end();

 private:
  Progress* progress_;
  std::string attack_;
  std::size_t documents_ = 0;
  std::chrono::steady_clock::time_point begun_;
  std::mutex mutex_;
  std::uint64_t done_ = 0;
  std::uint64_t forward_tokens_ = 0;
  std::uint64_t backward_tokens_ = 0;
};

}  // namespace casemate
