// src/pipeline/search.h
#pragma once

#include "casemate/pipeline/pipeline.h"

namespace casemate {

/// Reads the text of each candidate. A chunk that was deleted meanwhile or is damaged is left out, with a verdict.
[[nodiscard]] Result<std::vector<Hit>> load_hits(const Store& store, std::string_view tenant,
                                                 const Candidates& candidates, StageEvidence& stage);

/// "any of a, b; all of c", or "none".
[[nodiscard]] std::string describe_filter(const DocumentFilter& filter);

}  // namespace casemate
