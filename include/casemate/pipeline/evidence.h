// casemate/pipeline/evidence.h
#pragma once

#include <string>
#include <vector>

#include "casemate/retrieve/stage_evidence.h"

namespace casemate {

/// Version of the evidence's JSON form (docs/evidence.schema.json). It rises when a field changes its meaning or goes.
inline constexpr int kEvidenceVersion = 1;

/// What happened to one query, stage by stage. Server, command line, evaluation and certificates all write this.
struct Evidence {
  std::string policy;
  std::vector<StageEvidence> stages;
};

/// One JSON object by docs/evidence.schema.json; valid UTF-8 whatever the passages hold.
[[nodiscard]] std::string to_json(const Evidence& evidence);

}  // namespace casemate
