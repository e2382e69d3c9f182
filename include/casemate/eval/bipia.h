// casemate/eval/bipia.h
#pragma once

#include <string>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/untrusted_text.h"

namespace casemate {

/// An instruction that BIPIA plants in a text for a model to follow.
struct BipiaInstruction {
  std::string category;
  UntrustedText text;
};

/// BIPIA's text_attack_*.json: {category: [instruction, ...]}; entries that are no text are left out. Error:
/// InvalidInput with the path; NotFound, Io.
[[nodiscard]] Result<std::vector<BipiaInstruction>> read_bipia_instructions(const std::string& path);

}  // namespace casemate
