// casemate/eval/run_texts.h
#pragma once

#include <cstddef>
#include <string>

#include "casemate/core/status.h"
#include "casemate/eval/answer_set.h"

namespace casemate {

/// Writes texts/questions.jsonl and texts/passages.jsonl into the folder of a finished run about answers: the questions
/// of its logs with the first `passages_of_each` passages of each, for the report. Error: what logs say; Io.
[[nodiscard]] Status write_answer_texts(const std::string& folder, const AnswerSet& data, std::size_t passages_of_each);

}  // namespace casemate
