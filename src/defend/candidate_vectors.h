// src/defend/candidate_vectors.h
#pragma once

#include <span>

#include "casemate/defend/retrieval_defence.h"

namespace casemate {

/// Error: InvalidArgument, naming the passage, where one of the first `count` candidates has no embedding, one of
/// another dimension than the first, or one that is not finite. `needed_by` is the defence's name.
[[nodiscard]] Status require_embeddings(std::span<const PassageCandidate> candidates, std::string_view needed_by);

/// True where no value is a NaN or an infinity.
[[nodiscard]] bool all_finite(std::span<const float> values);

/// Cosine in double precision; 0 where either vector has norm zero.
[[nodiscard]] double cosine(std::span<const float> a, std::span<const float> b);

/// The first `pool_size` candidates, all where there are fewer.
[[nodiscard]] std::span<const PassageCandidate> pool_of(std::span<const PassageCandidate> candidates, int pool_size);

/// A verdict about `candidate`, its id and document filled in.
[[nodiscard]] Verdict verdict_of(const PassageCandidate& candidate, Decision decision, std::string reason);

/// What a defence returns once its caller asked it to stop.
[[nodiscard]] Error cancelled(std::string_view defence);

/// A number as evidence parameters show it: shortest form that reads back the same.
[[nodiscard]] std::string parameter_text(double value);

/// Error: InvalidOption naming field, value and range where `value` is outside [low, high] or not a number.
[[nodiscard]] Status check_range(std::string_view field, double value, double low, double high);

}  // namespace casemate
