// eval/report/run_summary.h
#pragma once

#include <span>
#include <string>
#include <vector>

#include "casemate/core/thread_pool.h"
#include "casemate/eval/run_record.h"

namespace casemate {

/// Two conditions, by their places, and the metric that they are compared by.
struct PlannedComparison {
  std::string metric;
  std::size_t condition = 0;
  std::size_t against = 0;
};

/// Fills figures, counts and differences of `run` from its conditions' logs in its folder: lines with "error" count as
/// failed, values come as `RunLogLine::value` has them. A metric that no query of a condition has is left out there.
/// Comparisons without common queries are left out. Error: what logs say.
[[nodiscard]] Status fill_from_logs(RunRecord& run, std::span<const PlannedComparison> planned, std::uint64_t seed);

/// The run as summary.json, which `read_run_record` reads back. `facts` stand at its top.
[[nodiscard]] std::string run_summary_json(const RunRecord& run);

}  // namespace casemate
