// Decoding aggregation: one token after another from the summed next-token probabilities of the groups.
#pragma once

#include "casemate/generate/robust_rag.h"

namespace casemate::generate {

[[nodiscard]] Result<RobustAnswer> answer_by_decoding(LanguageModel& model, const Question& question,
                                                      std::span<const PromptPassage> passages,
                                                      const RobustOptions& options, const std::stop_token& stop);

}  // namespace casemate::generate
