// Greedy decoding of a batch in lock step that also tells how near each answer was to another.
#pragma once

#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "casemate/llm/language_model.h"

namespace casemate::generate {

/// The two likeliest tokens of a distribution, equal ones by id.
struct TopTwo {
  TokenId first = -1;
  TokenId second = -1;
  double gap = 0;  ///< between their probabilities; 1 where only one token is possible
};
/// `log_probabilities` as LlmBatch gives them.
[[nodiscard]] TopTwo top_two(std::span<const float> log_probabilities);

struct GreedyRun {
  std::vector<TokenId> ids;  ///< without the end token
  double smallest_gap = 1;
  FinishReason finish = FinishReason::kLength;
};

/// Continues the first `sequences` of the batch, each to its end token, `max_new_tokens` or the end of the context.
/// Error: what the batch says; Cancelled.
[[nodiscard]] Result<std::vector<GreedyRun>> run_greedy(const LanguageModel& model, LlmBatch& batch,
                                                        std::size_t sequences, int max_new_tokens,
                                                        const std::stop_token& stop);

}  // namespace casemate::generate
