// Choosing tokens from logits. The plain arithmetic, independent of any backend.
#pragma once

#include <span>
#include <vector>

#include "casemate/core/random.h"
#include "casemate/llm/language_model.h"

namespace casemate::llm {

/// Index of the largest value; the lowest index of equal ones. -1 where none is above minus infinity.
[[nodiscard]] TokenId argmax(std::span<const float> logits);
/// Natural log of the softmax, summed in double. Minus infinities stay. Error: Model where a value is NaN or all are
/// minus infinity.
[[nodiscard]] Result<std::vector<float>> log_softmax(std::span<const float> logits);
/// The log-probability of one token, in double.
[[nodiscard]] double log_probability(std::span<const float> logits, TokenId id);
/// Greedy, or one draw after temperature, top_k and top_p. -1 where no token is possible.
[[nodiscard]] TokenId choose(std::span<const float> logits, const GenerateOptions& options, RandomStream& random);
/// The `count` likeliest ids, descending, equal ones by id.
[[nodiscard]] std::vector<TokenId> likeliest(std::span<const float> logits, std::size_t count);

}  // namespace casemate::llm
