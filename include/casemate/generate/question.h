// casemate/generate/question.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/hash.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/generate/vanilla.h"
#include "casemate/llm/prompt.h"

namespace casemate {

[[nodiscard]] std::string option_letter(std::size_t option);  ///< "A" for 0

/// What kind of answer is wanted: it chooses the prompts.
enum class AnswerTask : std::uint8_t {
  kShortAnswer,     ///< a few words
  kMultipleChoice,  ///< the letter of one of the options
  kLongText,        ///< sentences
};
[[nodiscard]] std::string_view answer_task_name(AnswerTask task) noexcept;  ///< "short-answer", "multiple-choice", ...

struct Question {
  UntrustedText text;
  AnswerTask task = AnswerTask::kShortAnswer;
  std::vector<UntrustedText> options{};  ///< of a multiple choice, A first; 2 to 26
};

/// What is asked, as prompts show it: the text, then each option on a line of its own. What certificates name.
[[nodiscard]] UntrustedText asked_text(const Question& question);

/// Prompts that put instruction, passages and question in this order, so that what comes before the question depends on
/// the passages alone and its state can be kept (PassageStates).
struct IsolatedPrompt {
  Prompt prompt;
  int question_part = 0;  ///< first part of the last message that stands after the passages
};

/// The prompt of one group: its passages only. `passages` may not be empty.
[[nodiscard]] IsolatedPrompt isolated_prompt(const Question& question, std::span<const PromptPassage> passages);
/// The question alone, to be answered from what the model knows.
[[nodiscard]] Prompt no_retrieval_prompt(const Question& question);
/// The second prompt of keyword aggregation: the question and the words that the groups agree on.
[[nodiscard]] Prompt hints_prompt(const Question& question, std::span<const std::string> keywords);
/// All passages in one prompt with a blank line between them: what an undefended system asks, in the same words as the
/// isolated prompts, so that answers can be compared.
[[nodiscard]] Prompt all_passages_prompt(const Question& question, std::span<const PromptPassage> passages);

/// BLAKE2b-256 of the fixed texts of all prompts of a task: two runs with the same hash ask alike.
[[nodiscard]] Digest prompt_hash(AnswerTask task);
/// BLAKE2b-256 of a passage as a prompt shows it.
[[nodiscard]] Digest passage_hash(const PromptPassage& passage);

/// The words by which a model that follows these prompts declines: "I don't know".
[[nodiscard]] std::string_view abstention_text() noexcept;

/// The option that an answer to a multiple choice names: a letter that stands by itself ("B", "(B)", "B. Paris"), else
/// the only option whose text the answer holds. Index from 0; nothing where it names none or declines.
[[nodiscard]] std::optional<std::size_t> chosen_option(const Question& question, std::string_view answer);

}  // namespace casemate
