// casemate/core/elapsed.h
#pragma once

#include <chrono>

namespace casemate {

/// Seconds of the steady clock since `begin`.
[[nodiscard]] inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace casemate
