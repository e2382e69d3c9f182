// src/attack/answer_target.h
#pragma once

#include <string>

#include "attack/wrong_answers.h"
#include "casemate/attack/attack.h"

namespace casemate {

/// The wrong answer that `attack` wants to the query. Error: InvalidInput naming the query where none is known.
[[nodiscard]] Result<std::string> wanted_answer(const AttackInput& input, const WrongAnswers& pool,
                                                const AttackTarget& target, std::string_view attack);

/// A document of nothing but `text`, which wants `answer` to the target's query.
[[nodiscard]] CraftedDocument answer_document(const AttackTarget& target, const std::string& answer,
                                              const UntrustedText& text);

}  // namespace casemate
