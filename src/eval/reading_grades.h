// eval/reading_grades.h
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "casemate/attack/attack.h"
#include "casemate/core/status.h"
#include "casemate/generate/vanilla.h"

namespace casemate {

/// An answer and what it is to be compared with. Not owned.
struct GradedAnswer {
  const AttackTarget& query;
  std::vector<std::string> wanted;  ///< by planted documents
  const std::vector<PromptPassage>& read;
  const UntrustedText& answer;
  FinishReason finish = FinishReason::kEnd;
};

struct ReadingGrades {
  std::vector<std::pair<std::string, double>> metrics;  ///< those of reading_metrics that can be told, in order
  std::optional<UntrustedText> judge;                   ///< the judge's own words
};

/// `judge` null: none is asked. Error: what the judge says; Cancelled.
[[nodiscard]] Result<ReadingGrades> grade_answer(const GradedAnswer& graded, LanguageModel* judge,
                                                 std::stop_token stop);

}  // namespace casemate
