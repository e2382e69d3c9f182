// casemate/eval/answer_set.h
#pragma once

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
  std::vector<PromptPassage> passages;     ///< retrieved, best first
};

struct AnswerSet {
  std::string path;
  std::vector<AnswerItem> items;
  std::vector<std::string> broken;  ///< records that were left out, each with its number and why; safe to print
  Digest digest{};                  ///< of all that was read
};

/// Reads `format` "realtimeqa": RealtimeQA as RobustRAG ships it, one JSON array of objects with "question", "correct
/// answer", "expanded answer", "incorrect answer", "incorrect_context", "choices", "choices answer", "context" (each
/// with "title" and "text"). Records without question, answer or passages, or with fields of another type, are broken
/// and left out; ids that repeat are numbered. Error: InvalidOption for another format; what `read_file` says;
/// InvalidInput where the file is no such array or nothing in it is whole.
[[nodiscard]] Result<AnswerSet> load_answer_set(std::string_view format, const std::string& path);

}  // namespace casemate
