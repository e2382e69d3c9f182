// casemate/eval/run_experiment.h
#pragma once

#include <stop_token>
#include <string>

#include "casemate/core/progress.h"
#include "casemate/core/status.h"
#include "casemate/core/thread_pool.h"
#include "casemate/eval/experiment.h"
#include "casemate/eval/summary.h"

namespace casemate {

class Encoder;
class LanguageModel;
class Reranker;

/// What an experiment works with. Not owned.
struct EvalParts {
  const Encoder* encoder = nullptr;    ///< required
  LanguageModel* model = nullptr;      ///< null: no defence that asks a model
  const Reranker* reranker = nullptr;  ///< for `rerank` by cross-encoder
  const ThreadPool* pool = nullptr;    ///< required
  std::string reranker_digest{};       ///< of the reranker's files: a folder is of one reranker alone
  const Encoder* judge = nullptr;      ///< judges paraphrases (advraggen); null: the encoder itself
};

struct EvalOptions {
  std::string out;     ///< folder for everything that the run makes
  bool quick = false;  ///< ask `quick_questions` instead of `questions`
};

struct EvalRun {
  std::size_t asked = 0;    ///< queries of this run, over all conditions
  std::size_t already = 0;  ///< that an earlier run had logged
  EvalSummary summary;
};

/// Runs the grid of an experiment, whose `data` names files as they lie, and writes into `out`:
///   experiment.json         what is run; a folder with another one is refused
///   attacks/ATTACK.jsonl    what was planted, one document a line
///   queries/CONDITION.jsonl one line a query, from which everything else can be computed again; of the first 100 also
///                           what the defences decided
///   calibrations.json       thresholds that defences left to calibration (`delta: auto`), each with its trade-off,
///                           measured on 100 questions of the data set that are not asked
///   texts/                  questions and the passages that logs name, for the report
///   summary.json, summary.csv, summary.md
///   timings.json            what the searches of each condition took, the only file that differs between runs
///   work/                   the corpus as a store, with the vectors that defences need; may be deleted
///
/// The clean corpus is embedded once; for each attack its documents are added and taken out again. After a kill or a
/// stop, the same call goes on behind the last logged query, and every file but timings.json has the same bytes as
/// without the interruption, whatever the number of threads. A query that fails (an empty one, say) is logged with its
/// error and counted.
///
/// Error: InvalidOption and what defences say before anything is computed; Mismatch for a folder of another experiment;
/// what data set, store and encoder say; Cancelled.
[[nodiscard]] Result<EvalRun> run_experiment(const Experiment& experiment, const EvalParts& parts,
                                             const EvalOptions& options, Progress& progress, std::stop_token stop);

}  // namespace casemate
