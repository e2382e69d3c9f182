// The isolated prompts of all groups as one batch, with kept states of passages where there are some.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "casemate/generate/robust_rag.h"

namespace casemate::generate {

/// Sequences of a batch: the groups that were asked, then (where wanted) the question alone.
struct GroupBatch {
  std::unique_ptr<LlmBatch> batch;          ///< null where no sequence is left
  std::vector<std::size_t> groups;          ///< sequence -> index of its group
  std::optional<std::size_t> no_retrieval;  ///< its sequence
  std::vector<std::size_t> too_long;        ///< groups whose prompt does not fit; they have no sequence
};

/// Groups in order; `with_no_retrieval` adds the question alone as the last sequence.
/// Error: what the model says; Limit where even the question alone does not fit.
[[nodiscard]] Result<GroupBatch> start_groups(LanguageModel& model, const Question& question,
                                              std::span<const PromptPassage> passages,
                                              std::span<const std::vector<std::size_t>> groups,
                                              const RobustOptions& options, bool with_no_retrieval,
                                              const std::stop_token& stop);

}  // namespace casemate::generate
