// casemate/certify/certify_question.h
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>

#include "casemate/certify/benign_cases.h"
#include "casemate/certify/keyword.h"
#include "casemate/certify/outcome.h"
#include "casemate/generate/robust_rag.h"

namespace casemate {

struct CertifyQuestionOptions {
  std::int64_t malicious = 1;  ///< k': passages of the attacker; in [0, k]
  PassageThreat threat = PassageThreat::kInjection;
  Billionths epsilon = 1'000'000;     ///< error of one probability; in [0, kOne]
  std::int64_t max_model_calls = 64;  ///< second prompts of one case of keyword aggregation; in [1, 2^14]
  std::int64_t max_steps = 1024;      ///< prefixes of answers that one case of decoding looks at; >= 1
};

/// The certificate of a question of a data set, whose right answer is known through `score`: the least score of any
/// answer that `malicious` passages can bring about (RobustRAG's tau, the least over all benign cases). Passages are
/// the clean retrieval. The second prompt is asked once for each set of hints, over all cases. Not certified, with the
/// reason, where any case is not. `score` is at least 0.
/// Error: as `answer_robustly`; InvalidOption; Limit for more placements or groups than can be looked at; Cancelled,
/// within one call of the model.
[[nodiscard]] Result<CaseOutcome> certify_question(LanguageModel& model, const Question& question,
                                                   std::span<const PromptPassage> passages,
                                                   const RobustOptions& options, const CertifyQuestionOptions& certify,
                                                   const ScoreAnswer& score, std::stop_token stop = {});

}  // namespace casemate
