// casemate/eval/report.h
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "casemate/core/status.h"
#include "casemate/eval/run_record.h"

namespace casemate {

struct ReportOptions {
  std::string title;                  ///< empty: the names of the runs
  std::size_t max_bytes = 2'900'000;  ///< of the page; in [200,000, 100,000,000]: what queries show is cut to fit
  bool with_costs = false;  ///< also what queries took, which differs from run to run
};

/// One HTML page about one or several runs that needs nothing else: no network, no other file. Tables, plots and tests
/// stand in the page itself; a script that the page carries shows single queries. Questions, passages and answers reach
/// the page as escaped text or as JSON that the script puts into text nodes, and the page's content security policy
/// lets nothing run but that script (by its hash) and nothing load. With several runs, conditions that they share are
/// compared query by query. Error: InvalidOption; InvalidArgument for no run; what logs say; Limit where the page does
/// not fit `max_bytes` even without single queries.
[[nodiscard]] Result<std::string> make_report(std::span<const RunRecord> runs, const ReportOptions& options = {});

/// Reads the run in `folder` and writes `folder`/report.html. Error: as `read_run_record` and `make_report`; Io.
[[nodiscard]] Status write_report(const std::string& folder);

}  // namespace casemate
