// apps/casemate/exit_codes.h
#pragma once

#include "casemate/core/status.h"

namespace casemate::cli {

inline constexpr int kDone = 0;
inline constexpr int kAnswerIsNo = 1;     ///< a gate failed, a check found damage
inline constexpr int kWrongUse = 2;       ///< wrong use or bad input
inline constexpr int kOutsideFailed = 3;  ///< model, disk or network
inline constexpr int kInterrupted = 130;  ///< stopped by Ctrl-C, as shells expect

[[nodiscard]] inline int exit_code_of(const Error& error) {
  if (error.code == ErrorCode::kCancelled) return kInterrupted;
  return is_callers_fault(error.code) ? kWrongUse : kOutsideFailed;
}

}  // namespace casemate::cli
