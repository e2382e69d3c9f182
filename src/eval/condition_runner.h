// src/eval/condition_runner.h
#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "casemate/core/progress.h"
#include "casemate/core/thread_pool.h"
#include "casemate/eval/experiment.h"
#include "casemate/pipeline/pipeline.h"
#include "eval/query_log.h"

namespace casemate {

struct ConditionTimes {
  std::size_t queries = 0;
  double seconds = 0;  ///< of the clock
  double p50_ms = 0;   ///< of one search, while others ran beside it
  double p95_ms = 0;
};

/// What is asked under one condition. Not owned.
struct ConditionWork {
  const Pipeline* pipeline = nullptr;
  std::span<const AttackTarget> queries;  ///< those that are still to be asked, in order
  std::span<const CraftedDocument> planted;
  std::span<const EvalMetric> metrics;
  std::uint64_t seed = 0;
  int top_k = 10;
  std::span<const Judgements> judgements;  ///< of each of `queries`, where several documents answer; else empty
  std::size_t with_verdicts = 0;           ///< of the first so many of `queries`, what defences decided is logged too
};

/// Asks the queries, several at once, and appends a line for each to `log`, in order. Error: what the log says; what a
/// search says where that is no fault of the query; Cancelled.
[[nodiscard]] Result<ConditionTimes> run_condition(const ConditionWork& work, LogWriter& log, const ThreadPool& pool,
                                                   Progress& progress, std::stop_token stop);

}  // namespace casemate
