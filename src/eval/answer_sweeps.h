// eval/answer_sweeps.h
#pragma once

#include <string>

#include "casemate/eval/answer_experiment.h"

namespace casemate {

/// For each option of a method that stands in the experiment at several values, everything else the same: a Markdown
/// table with a row a value, right answers under each attack, and what is certified for each budget. Of long text, mean
/// scores and mean tau. Empty where there is none.
[[nodiscard]] std::string answer_sweep_tables(const AnswerSummary& summary);

}  // namespace casemate
