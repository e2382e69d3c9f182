// casemate/llm/requantise.h
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "casemate/core/status.h"

namespace casemate {

/// "q8_0" (8 bits and a scale for 32 weights), "f16", "bf16", "q4_0".
[[nodiscard]] std::span<const std::string_view> weight_formats() noexcept;

/// Writes the GGUF file `from` with its matrices in another format to `to`, by llama.cpp's own quantiser. Worth it
/// where a format has no matrix kernel: SmolLM2 in Q4_1 reads prompts in twice the time of the same weights in Q8_0.
/// Weights that were rounded to four bits do not get their digits back. Another file is another model: hash and answers
/// change. `threads` 0 is all cores. Error: InvalidOption with the nearest format's name; what reading `from` says; Io;
/// Model.
[[nodiscard]] Status requantise_model(const std::string& from, const std::string& to, std::string_view format,
                                      int threads = 0);

}  // namespace casemate
