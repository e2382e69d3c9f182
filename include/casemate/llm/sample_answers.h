// casemate/llm/sample_answers.h
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "casemate/llm/language_model.h"

namespace casemate {

/// Several draws of an answer to one prompt, one for each seed, which takes the place of `options.seed`. Where the
/// backend can and `options` ask for neither stop strings, grammar nor log-probabilities, the prompt is computed once
/// and the answers are decoded together, at most 16 at a time; else one after another. Each draw is the one that
/// `generate` gives with its seed, as far as the backend keeps batch and single runs equal; the same seeds give the
/// same answers. Error: InvalidOption; what the model says; Cancelled.
[[nodiscard]] Result<std::vector<Generation>> sample_answers(LanguageModel& model, const Prompt& prompt,
                                                             const GenerateOptions& options,
                                                             std::span<const std::uint64_t> seeds,
                                                             std::stop_token stop = {});

}  // namespace casemate
