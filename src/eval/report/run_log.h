// eval/report/run_log.h
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/eval/compare.h"
#include "casemate/eval/run_record.h"

namespace casemate {

/// One line of a per-query log, whatever the kind of experiment.
struct RunLogLine {
  std::string query;
  nlohmann::json fields;  ///< the whole line
  /// Its value of a metric: a number, true or false, at the top or inside "metrics"; nothing where it has none.
  [[nodiscard]] std::optional<double> value(std::string_view metric) const;
};

/// Error: InvalidInput with path and line; NotFound.
[[nodiscard]] Result<std::vector<RunLogLine>> read_run_log(const std::string& path);

/// Values of one metric by query; queries without one are left out.
[[nodiscard]] PerQuery values_of(const std::vector<RunLogLine>& log, std::string_view metric);

/// Adjusts p of all rows of each metric by Holm.
void adjust_by_metric(std::vector<RunDifference>& rows);

}  // namespace casemate
