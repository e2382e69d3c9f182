// eval/leakage_figures.h
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/eval/leakage_experiment.h"

namespace casemate {

/// One figure's values over questions, by name.
using FigureValues = std::map<std::string, std::vector<double>, std::less<>>;

/// Means of a row by name, in the order of its tables.
[[nodiscard]] std::vector<std::pair<std::string, double>> utility_figures(const UtilityRow& row);
[[nodiscard]] std::vector<std::pair<std::string, double>> leakage_figures(const LeakageRow& row);
/// "crr_eed@0.5".
[[nodiscard]] std::string recovery_name(std::string_view curve, double threshold);

/// What a log of clean answers comes to. Error: InvalidInput with path and line; what `each_json_line` says.
[[nodiscard]] Result<UtilityRow> read_utility(const std::string& path, std::string mode, std::uint64_t seed);

/// Adds the log of one instruction to `row`, which keeps each figure of the instruction that is worst by it, with its
/// interval. Error: as above.
[[nodiscard]] Status add_instruction(const std::string& path, std::string_view instruction, std::uint64_t seed,
                                     LeakageRow& row);

}  // namespace casemate
