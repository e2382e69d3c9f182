// casemate/eval/composed_experiment.h
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "casemate/certify/retrieval_condition.h"
#include "casemate/core/yaml_options.h"
#include "casemate/eval/answer_experiment.h"
#include "casemate/eval/data_set.h"
#include "casemate/eval/run_experiment.h"

namespace casemate {

/// An experiment about composed certificates (docs/certificates.md): passages by RAGPart's votes over a whole corpus,
/// an answer from each by itself, and what passages planted in the corpus could change of it. Its YAML file says `kind:
/// composed` (docs/evaluation.md).
struct ComposedExperiment {
  std::string name;
  std::string description;
  DataSource data;          ///< paths as written
  std::string encoder;      ///< a model's name; empty: the program's
  std::uint64_t seed = 42;  ///< of the sample of questions
  int questions = 0;        ///< 0: all
  int quick_questions = 1;
  int top_k = 10;                      ///< passages retrieved and answered from; in [1, 64]
  std::vector<DefenceChoice> ragpart;  ///< "ragpart{combination: 3}", at least one
  std::vector<AnswerMethod> methods;   ///< aggregations over groups of one passage, at least one
  std::vector<PlantedPassages> planted;
};

[[nodiscard]] bool is_composed_experiment(const YamlValue& root);
/// Error: InvalidOption and InvalidInput with file, line and field.
[[nodiscard]] Result<ComposedExperiment> read_composed_experiment(const YamlValue& root);

/// "planted 2, fragments 1, similarity 0.5": as rows of the summary name a budget.
[[nodiscard]] std::string budget_name(const PlantedPassages& planted);

/// Answers and certifies every question by every method behind every RAGPart, and writes into `options.out` what
/// `run_answer_experiment` does, and the corpus as a store in work/. Conditions are named "ragpart{..} > method"; rows
/// of certificates are the live ones and, for each budget of planted passages, the share of questions whose answer
/// these cannot change. A log's `reason` says how many lists they enter and how many passages they change. Resumes as
/// `run_answer_experiment` does. Error: as there; InvalidArgument without a model.
[[nodiscard]] Result<AnswerRun> run_composed_experiment(const ComposedExperiment& experiment, const EvalParts& parts,
                                                        const EvalOptions& options, Progress& progress,
                                                        std::stop_token stop);

}  // namespace casemate
