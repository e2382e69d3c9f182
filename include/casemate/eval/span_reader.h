// casemate/eval/span_reader.h
#pragma once

#include <cstddef>
#include <stop_token>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/generate/vanilla.h"
#include "casemate/llm/language_model.h"

namespace casemate {

/// A piece of a passage that a language model chose as the answer.
struct SpanAnswer {
  UntrustedText text;     ///< exactly as it stands in the passage, without punctuation at its ends; empty: none
  std::size_t begin = 0;  ///< bytes of the passage's text
  std::size_t end = 0;
  double log_probability = 0;  ///< of its tokens, without that of ending there
  std::size_t generated_tokens = 0;
};

/// Makes a language model an extractive reader: asked the question over the passage, it may only go on with tokens that
/// continue a piece of the passage beginning at a word, and end where a word ends. Greedy; ties: the first in the
/// passage. Error: InvalidArgument for max_tokens < 1; Unsupported without tokens, full probabilities and batches; what
/// the model says; Cancelled.
[[nodiscard]] Result<SpanAnswer> read_span(LanguageModel& model, const UntrustedText& question,
                                           const PromptPassage& passage, int max_tokens = 16,
                                           std::stop_token stop = {});

/// Where an answer may begin in `text`: the bytes of words' first letters or digits.
[[nodiscard]] std::vector<std::size_t> word_starts(std::string_view text);

}  // namespace casemate
