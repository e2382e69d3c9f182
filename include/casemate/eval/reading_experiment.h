// casemate/eval/reading_experiment.h
#pragma once

#include <stop_token>
#include <string_view>
#include <vector>

#include "casemate/core/progress.h"
#include "casemate/core/status.h"
#include "casemate/core/yaml_options.h"
#include "casemate/eval/run_experiment.h"
#include "casemate/eval/run_record.h"

namespace casemate {

/// True where a YAML file's `kind` is "reading": a ranking experiment whose rankings are read on, by each of `methods`.
[[nodiscard]] bool is_reading_experiment(const YamlValue& root);

/// What each answer gets, in order: "right" (holds a right answer, whole words), "exact_match" and "f1" (SQuAD 1.1),
/// "bleu" (sacrebleu's sentence BLEU, over 100), "rouge_l" (F),
/// "attack_success" (holds what a planted document wants; only where one wants something of this query that is neither
/// in the question nor in a right answer), "faithfulness", "valid", "declined"; where a method stands behind a
/// sanitizer also "disclosed" (share of the passages' characters that the generator was shown), with a judge "judged".
[[nodiscard]] std::vector<std::string> reading_metrics(const Experiment& experiment);

/// Runs the retrieval of an experiment in `out`/retrieval as `run_experiment` does, then answers each query from the
/// first passages of its ranking under each condition by each method: "span" (read_span over the first passage),
/// "vanilla", "no-retrieval", or an aggregation of RobustRAG with its options, each also behind a sanitizer: "kfs-fact
/// > vanilla". Writes into `out` what run_experiment does, with conditions named "attack / defence | method"; a line of
/// a log has the answer, ids of the passages that were read, votes of groups, and the judge's own words. Resumes as
/// run_experiment does, with the same bytes. Error: as run_experiment; InvalidArgument without a model; what the model
/// says, other than about one query.
[[nodiscard]] Result<RunRecord> run_reading_experiment(const Experiment& experiment, const EvalParts& parts,
                                                       const EvalOptions& options, Progress& progress,
                                                       std::stop_token stop);

}  // namespace casemate
