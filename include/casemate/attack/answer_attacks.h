// casemate/attack/answer_attacks.h
#pragma once

#include <span>
#include <string>
#include <vector>

#include "casemate/core/untrusted_text.h"

namespace casemate {

/// How often a malicious passage repeats its content (RobustRAG, appendix B).
inline constexpr int kAnswerAttackRepeats = 10;

/// `pia`, prompt injection: a passage that orders to answer `target` to `question`. Black box: needs question and
/// target.
[[nodiscard]] UntrustedText injected_instruction(const UntrustedText& question, const UntrustedText& target,
                                                 int repeats = kAnswerAttackRepeats);

/// `poison`: a passage that supports a wrong answer: `text` says so.
[[nodiscard]] UntrustedText supporting_lie(const UntrustedText& text, int repeats = kAnswerAttackRepeats);
/// A sentence that says so, where the data has none: the plain claim that `target` is the answer to `question`.
[[nodiscard]] UntrustedText plain_claim(const UntrustedText& question, const UntrustedText& target);

}  // namespace casemate
