// eval/report/costs.h
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "casemate/eval/run_record.h"

namespace casemate {

/// What one condition took, as it was measured beside the results.
struct RunCost {
  std::string condition;
  std::uint64_t queries = 0;
  double p50_ms = 0;                    ///< of one query
  double p95_ms = 0;                    ///< of one query
  std::optional<double> tokens;         ///< computed by the language model, mean of an answer
  std::optional<double> reused_tokens;  ///< that it had computed before, mean of an answer
  int threads = 0;                      ///< 0: not known
};

/// Of the conditions of `run` that were measured: timings.json for retrieval, costs/ for answers. Files that are
/// missing or damaged mean fewer rows: costs prove nothing.
[[nodiscard]] std::vector<RunCost> read_run_costs(const RunRecord& run);

/// The report's table; empty where nothing was measured.
[[nodiscard]] std::string costs_section(const RunRecord& run);

}  // namespace casemate
