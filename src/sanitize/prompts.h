// What the auxiliary model is asked. The question never stands in these prompts: an instruction in it has no way in.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "casemate/sanitize/ap_keywords.h"

namespace casemate::sanitize {

/// An example of how texts of a field read.
struct StyleExample {
  std::string facts;
  std::string text;
};

[[nodiscard]] Prompt facts_prompt(std::span<const ContextPassage> passages, std::span<const UntrustedText> keywords);
[[nodiscard]] Prompt other_words_prompt(const UntrustedText& fact);
[[nodiscard]] Prompt style_prompt(std::span<const StyleExample> examples, std::span<const UntrustedText> facts);
[[nodiscard]] Prompt paraphrase_prompt(const ContextPassage& passage);
[[nodiscard]] Prompt summary_prompt(std::span<const ContextPassage> passages);
[[nodiscard]] Prompt attributes_prompt(std::span<const ContextPassage> passages,
                                       std::span<const std::string> attributes);
[[nodiscard]] Prompt search_prompt(const UntrustedText& question);

}  // namespace casemate::sanitize
