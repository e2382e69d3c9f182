// casemate/core/run_together.h
#pragma once

#include <cstddef>
#include <functional>

#include "casemate/core/status.h"

namespace casemate {

/// Runs `task(i)` once for each i in [0, count), `at_once` (>= 1; 0 counts as 1) of them at the same time, each on a
/// thread of its own. For work that waits most of the time: for a server, or for a language model that computes the
/// next tokens of all who wait in one step. What computes belongs on a `ThreadPool`, which has no more threads than
/// there are cores. Indices are begun in order, and none after one has failed; those that have begun end first. Tasks
/// must not throw. Error: of the lowest index that failed.
[[nodiscard]] Status run_together(std::size_t count, std::size_t at_once,
                                  const std::function<Status(std::size_t index)>& task);

}  // namespace casemate
