// src/eval/summarise.h
#pragma once

#include <span>
#include <vector>

#include "casemate/core/thread_pool.h"
#include "casemate/eval/summary.h"
#include "eval/query_log.h"

namespace casemate {

/// Mean and interval of one metric's values, at least one: Wilson's where every value is 0 or 1, else the bootstrap's.
[[nodiscard]] Result<MetricCell> metric_cell(const std::vector<double>& values, std::uint64_t seed);

/// Fills cells and comparisons of `summary` from the conditions' logs, in order. Compared are: each condition with the
/// clean, undefended one, and each defended condition with the undefended one under the same attack; metrics of poison
/// only in the second way, since nothing is planted in the clean corpus.
[[nodiscard]] Status summarise(EvalSummary& summary, std::span<const LoggedValues> logs, const ThreadPool& pool);

}  // namespace casemate
