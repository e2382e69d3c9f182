// eval/report/tables.h
#pragma once

#include <string>
#include <vector>

#include "casemate/eval/run_record.h"

namespace casemate {

// Sections of the report about one run, as HTML. `prefix` makes ids unique where a page shows several runs.

[[nodiscard]] std::string facts_section(const RunRecord& run);
/// For each metric a table of attacks by defences, with intervals and heat.
[[nodiscard]] std::string grid_section(const RunRecord& run, const std::string& prefix);
/// Utility against robustness, with the Pareto front; empty where the run has no clean condition or one defence alone.
[[nodiscard]] std::string trade_off_section(const RunRecord& run, const std::string& prefix);
/// Sweeps as lines with bands; empty where there are none.
[[nodiscard]] std::string sweep_section(const RunRecord& run, const std::string& prefix);
[[nodiscard]] std::string certified_section(const RunRecord& run);
/// Empty where there are none.
[[nodiscard]] std::string published_section(const RunRecord& run);
/// Rows of differences with n, interval, discordant pairs and adjusted p; empty where there are none.
[[nodiscard]] std::string difference_table(const std::vector<RunDifference>& rows);

}  // namespace casemate
