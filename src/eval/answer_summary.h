// From the logs of an answer experiment to its figures.
#pragma once

#include <span>
#include <vector>

#include "casemate/eval/answer_experiment.h"
#include "eval/answer_log.h"

namespace casemate {

struct AnswerConditionLog {
  const AnswerMethod* method = nullptr;
  const AnswerAttack* attack = nullptr;
  std::vector<AnswerOutcome> outcomes;
  std::vector<AnswerCost> costs;
};

/// All figures that follow from the logs; model, number of questions and `quick` are left to the caller.
[[nodiscard]] AnswerSummary summarise_answers(const AnswerExperiment& experiment,
                                              std::span<const AnswerConditionLog> logs);

/// Writes summary.json, summary.csv and summary.md into the folder. Error: Io.
[[nodiscard]] Status write_answer_summary(const AnswerSummary& summary, const std::string& folder);

}  // namespace casemate
