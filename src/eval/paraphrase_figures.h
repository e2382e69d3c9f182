// What paraphrased poison (advraggen) reached, by a rule that leaves out what is no paraphrase.
#pragma once

#include <optional>
#include <string>

#include "casemate/core/status.h"
#include "casemate/eval/summary.h"

namespace casemate {

/// From an attack's records and a condition's log. Nothing where no record has rewards. Queries that failed count for
/// nothing. Error: InvalidInput with path and line; NotFound.
[[nodiscard]] Result<std::optional<ParaphraseFigures>> read_paraphrase_figures(const std::string& records,
                                                                               const std::string& log);

/// A table a condition that has such figures; empty where none has.
[[nodiscard]] std::string paraphrase_table(const EvalSummary& summary);

}  // namespace casemate
