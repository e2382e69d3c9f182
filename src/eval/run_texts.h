// eval/run_texts.h
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "casemate/core/status.h"
#include "casemate/eval/data_set.h"

namespace casemate {

// texts/questions.jsonl and texts/passages.jsonl of a run's folder: what a report shows beside the ids of the logs.

/// Questions that were asked, and the passages that any of `logs` (per-query logs) names. Error: what logs say; Io.
[[nodiscard]] Status write_run_texts(const std::string& folder, const DataSet& data,
                                     std::span<const AttackTarget> asked, std::span<const std::string> logs);

}  // namespace casemate
