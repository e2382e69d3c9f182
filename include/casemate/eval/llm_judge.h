// casemate/eval/llm_judge.h
#pragma once

#include <optional>
#include <span>
#include <stop_token>
#include <string_view>

#include "casemate/core/status.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/llm/language_model.h"

namespace casemate {

/// What a language model says about an answer. A small model is a weak judge, and an answer can try to talk to it: its
/// verdicts stand beside the metrics that compute and never in their place.
struct JudgeVerdict {
  std::optional<bool> right;  ///< unset where it says neither yes nor no
  UntrustedText raw;          ///< what it said, to be kept
};

/// Asks whether `answer` means one of the `right` answers to `question`; greedy. Error: InvalidArgument without right
/// answers; what the model says; Cancelled.
[[nodiscard]] Result<JudgeVerdict> judge_answer(LanguageModel& model, const UntrustedText& question,
                                                std::span<const UntrustedText> right, const UntrustedText& answer,
                                                std::stop_token stop = {});

/// The fixed words of the prompt, to be kept beside the verdicts.
[[nodiscard]] std::string_view judge_instruction() noexcept;

}  // namespace casemate
