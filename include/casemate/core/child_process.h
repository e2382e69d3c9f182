// casemate/core/child_process.h
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"

namespace casemate {

/// A program to run, without a shell.
struct ChildRun {
  std::string program;                                        ///< absolute path
  std::vector<std::string> arguments;                         ///< without the program's name
  std::vector<std::string> environment = {"LC_ALL=C.UTF-8"};  ///< NAME=value; nothing else is seen
  std::string_view input;                                     ///< its standard input; must outlive the run
  int timeout_ms = 60'000;                                    ///< >= 1
  /// False: it works on hostile input, so it may write no file, gains no privileges, has 64 file descriptors, processor
  /// time a little over `timeout_ms`, and `memory_bytes`. True: a program of the user's, without these limits.
  bool trusted = false;
  std::uint64_t memory_bytes = UINT64_C(1) << 30U;  ///< address space where it is not trusted; 0: not limited
  bool merge_errors = false;                        ///< standard error goes to `out` too, in order
  std::uint64_t output_bytes = UINT64_C(512) << 20U;
  bool keep_tail = false;         ///< of more output than `output_bytes` its end is kept; else that is an error
  std::function<void()> on_tick;  ///< called about ten times a second while it runs, from the caller's thread
};

struct ChildOutput {
  int exit_code = 0;  ///< -1 where a signal ended it
  int signal = 0;
  std::string out;
  std::string err;  ///< the first 64 KiB of it
};

/// Runs a program, gives it its input, and waits for its end.
///
/// The child has no open file of ours and no core dumps, is the head of a process group of its own, and dies with the
/// thread that called. At the deadline, past the output limit, or when asked to stop, the whole group is killed; the
/// child is always reaped. May be called from any thread of a multi-threaded program: between fork and exec only
/// async-signal-safe calls are made. Error: NotFound, Timeout, Limit (output), Cancelled, Unavailable.
[[nodiscard]] Result<ChildOutput> run_child(const ChildRun& run, const std::stop_token& stop = {});

/// "stopped with signal 11", "ended with code 3".
[[nodiscard]] std::string describe_end(const ChildOutput& output);
/// The last line of `output` that is not blank, shortened and safe to show.
[[nodiscard]] std::string last_line(const std::string& output);

}  // namespace casemate
