// apps/casemate/eval_gates.h
#pragma once

#include "casemate/core/status.h"
#include "casemate/eval/answer_experiment.h"
#include "casemate/eval/experiment.h"
#include "casemate/eval/leakage_experiment.h"
#include "run_outputs.h"

namespace casemate::cli {

// Whether the gates name what an experiment has: one that could not be asked is told before the long work.
// Error: InvalidOption.

[[nodiscard]] Status check_gates(const RunOutputs& outputs, const Experiment& experiment);
[[nodiscard]] Status check_gates(const RunOutputs& outputs, const AnswerExperiment& experiment);
[[nodiscard]] Status check_gates(const RunOutputs& outputs, const LeakageExperiment& experiment);

}  // namespace casemate::cli
