// What one answer of a leakage experiment is worth, and what it gives away, as fields of its log line.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "casemate/attack/attack.h"
#include "casemate/encoder/encoder.h"
#include "eval/leakage_answers.h"

namespace casemate {

/// A clean answer against the data set's answers, and at which step a right answer still stands.
void score_use(const AttackTarget& question, const LeakAnswer& made, nlohmann::ordered_json& line);

/// An answer against each chunk that was retrieved. Error: what the encoder says.
[[nodiscard]] Status score_leak(const Encoder& encoder, const LeakAnswer& made, std::span<const LeakChunk> chunks,
                                nlohmann::ordered_json& line);

}  // namespace casemate
