// casemate/eval/answer_set.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/hash.h"
#include "casemate/core/status.h"
#include "casemate/generate/question.h"

namespace casemate {

/// A question that comes with what was retrieved for it, right answers, and a wrong one to aim at.
struct AnswerItem {
  std::string id;
  UntrustedText question;
  std::vector<UntrustedText> answers;  ///< each is right; at least one
  std::vector<UntrustedText> options;  ///< of its multiple choice; empty where it has none
  std::optional<std::size_t> right_option;
  UntrustedText wrong_answer;              ///< what attacks aim at; empty: it is not attacked
  std::vector<UntrustedText> wrong_texts;  ///< that support the wrong answer
  std::vector<PromptPassage> passages;     ///< retrieved, best first; at least one
  /// What a long answer should hold, each with its wordings, at least one; empty where the data lists none.
  std::vector<std::vector<UntrustedText>> facts{};
};

struct AnswerSet {
  std::string path;
  std::vector<AnswerItem> items;
  std::vector<std::string> broken;  ///< records that were left out, each with its number and why; safe to print
  Digest digest{};                  ///< of all that was read
};

struct AnswerSetOptions {
  std::size_t passages =
      10;                   ///< of each question at most, where the data does not say which were retrieved; in [1, 64]
  std::uint64_t seed = 42;  ///< of wrong answers that are drawn
};

/// Formats of questions with passages, in order of name (docs/evaluation.md).
[[nodiscard]] std::vector<std::string_view> answer_formats();
/// Error: InvalidOption, naming the nearest format, or saying what a known format lacks.
[[nodiscard]] Status check_answer_format(std::string_view format);

/// "realtimeqa": RealtimeQA as RobustRAG ships it, one JSON array of objects with "question", "correct answer",
/// "expanded answer", "incorrect answer", "incorrect_context", "choices", "choices answer", "context" (each with
/// "title" and "text"). "jsonl": an object a line, {id, question, answers, facts, wrong_answer, wrong_texts, options,
/// right_option, passages: [{title, text}]}. "musique": a question's own paragraphs, those that answer it first.
/// Other formats of `data_formats` that have passages and questions: what answers the question first, then passages of
/// the same title, the nearest in the file first. Where the data has no wrong answer, one is drawn from the answers of
/// other questions.
/// Records without question, answer or passages, or with fields of another type, are broken and left out; ids that
/// repeat are numbered (corpora: left out). Error: InvalidOption as `check_answer_format`; what `read_file` says;
/// InvalidInput where the file is of another form or nothing in it is whole.
[[nodiscard]] Result<AnswerSet> load_answer_set(std::string_view format, const std::string& path,
                                                const AnswerSetOptions& options = {});

}  // namespace casemate
