// apps/casemate/attack_queries.h
#pragma once

#include <string>
#include <vector>

#include "casemate/attack/attack.h"

namespace casemate::cli {

/// Queries to attack from a file: SQuAD 1.1 JSON (or a zip file with it); JSON lines {"query" or "question", "id",
/// "gold", "answers", "wrong_answer", "wrong_texts"} of which only the first is needed; or one query a line. Queries
/// without an id are named by their number from 0. Error: InvalidInput with file and line; what the reader says.
[[nodiscard]] Result<std::vector<AttackTarget>> read_attack_queries(const std::string& path);

}  // namespace casemate::cli
