// src/eval/sweep_table.h
#pragma once

#include <string>

#include "casemate/eval/summary.h"

namespace casemate {

/// For each attack that stands in the experiment with several numbers of iterations and otherwise the same options: a
/// Markdown table of attack success by defence (rows) and iterations (columns), for each metric of attack success, as
/// table 6 of RAGPart's and RAGMask's paper has it, with the mean similarity of what was planted. Empty where there is
/// none.
[[nodiscard]] std::string iteration_tables(const EvalSummary& summary);

}  // namespace casemate
