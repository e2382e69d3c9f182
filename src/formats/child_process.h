// formats/child_process.h
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"

namespace casemate {

struct ChildLimits {
  int timeout_ms = 60'000;
  std::uint64_t memory_bytes = UINT64_C(1) << 30U;  ///< address space; 0: not limited
  std::uint64_t output_bytes = UINT64_C(512) << 20U;
};

struct ChildOutput {
  int exit_code = 0;  ///< -1 where a signal ended it
  int signal = 0;
  std::string out;
  std::string err;  ///< at most 64 KiB of it
};

/// Runs `program` (an absolute path) with `arguments`, without a shell, gives it `input`, and waits for its end.
///
/// The child has an empty environment but for LC_ALL=C.UTF-8, no other open file, no core dumps, may write no file,
/// gains no privileges, and dies with the thread that called. Past the deadline or the output limit it is killed; it is
/// always reaped. May be called from any thread of a multi-threaded program: between fork and exec only
/// async-signal-safe calls are made. Error: NotFound, Timeout, Limit (output), Unavailable.
[[nodiscard]] Result<ChildOutput> run_child(const std::string& program, const std::vector<std::string>& arguments,
                                            std::string_view input, const ChildLimits& limits);

/// "stopped with signal 11", "ended with code 3".
[[nodiscard]] std::string describe_end(const ChildOutput& output);

}  // namespace casemate
