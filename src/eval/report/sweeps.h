// eval/report/sweeps.h
#pragma once

#include <string>
#include <vector>

#include "casemate/eval/run_record.h"
#include "eval/report/plots.h"

namespace casemate {

/// One option of an attack or of a defence at several values, everything else the same.
struct Sweep {
  std::string option;  ///< "rate"
  std::string of;      ///< "near-duplicate" as written without the option
  bool of_attack = true;
  struct Value {
    double at = 0;
    std::string name;  ///< as in the conditions
  };
  std::vector<Value> values;  ///< ascending; at least two
};

/// Sweeps among `names`, which are all attacks or all defences, in their order; the values ascend.
[[nodiscard]] std::vector<Sweep> sweeps_among(const std::vector<std::string>& names, bool of_attack);
/// Sweeps among the attacks and the defences of a run, in its order.
[[nodiscard]] std::vector<Sweep> find_sweeps(const RunRecord& run);
/// One metric along a sweep: a line for each defence (of a sweep over an attack) or attack. Lines without two points
/// are left out.
[[nodiscard]] std::vector<PlotLine> sweep_lines(const RunRecord& run, const Sweep& sweep, const std::string& metric);

}  // namespace casemate
