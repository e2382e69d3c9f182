// models/helper_process.h
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "casemate/core/status.h"

namespace casemate {

struct HelperRun {
  std::string program;                   ///< absolute path
  std::vector<std::string> arguments;    ///< without the program's name
  std::vector<std::string> environment;  ///< NAME=value; nothing else is seen
  int timeout_ms = 60'000;
  std::function<void()> on_tick;  ///< called ten times a second while it runs, from the calling thread; may be empty
};

struct HelperOutput {
  int exit_code = 0;  ///< -1 where a signal ended it
  int signal = 0;
  std::string output;  ///< standard output and error together; the last 64 KiB
};

/// Runs a trusted program of the user's (Python's pip), without a shell, in a process group of its own, with an empty
/// standard input; unlike `run_child` of formats it may write files and use the network. The whole group is killed at
/// the deadline or when asked to stop. Error: NotFound, Unavailable, Timeout, Cancelled.
[[nodiscard]] Result<HelperOutput> run_helper(const HelperRun& run, const std::stop_token& stop);

/// The last line of `output` that is not blank, shortened and safe to show.
[[nodiscard]] std::string last_line(const std::string& output);

}  // namespace casemate
