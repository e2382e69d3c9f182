// eval/report/answer_differences.h
#pragma once

#include <vector>

#include "casemate/eval/run_record.h"

namespace casemate {

/// Of a run about answers, from its logs: each method under attack against itself without one, and against vanilla with
/// the same task under the same attack. Error: what logs say.
[[nodiscard]] Result<std::vector<RunDifference>> answer_differences(const RunRecord& run);

}  // namespace casemate
