// casemate/formats/squad.h
#pragma once

#include <string>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/formats/read_options.h"

namespace casemate {

/// A question of SQuAD 1.1 with the passage that answers it.
struct SquadQuestion {
  std::string id;
  UntrustedText question;
  std::string gold_passage_id;  ///< id of the document that `read_path` makes of the same file
  std::vector<UntrustedText> answers;
};

struct SquadQuestions {
  std::vector<SquadQuestion> questions;
  std::vector<InputProblem> problems;  ///< records without an id or question; they are left out
};

/// The questions of a SQuAD 1.1 file (JSON, or a zip file with one JSON in it), in file order.
/// Error: InvalidInput, Limit, Io, NotFound, with the file's name.
[[nodiscard]] Result<SquadQuestions> read_squad_questions(const std::string& path, const ReadLimits& limits);

/// "squad-" and 16 hexadecimal digits of the BLAKE2b hash of the context: the same text has the same id in any file.
[[nodiscard]] std::string squad_passage_id(std::string_view context);

}  // namespace casemate
