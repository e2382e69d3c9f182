// apps/casemate/question_sample.h
#pragma once

#include <cstdint>
#include <vector>

#include "casemate/formats/squad.h"

namespace casemate::cli {

/// `count` questions drawn without repetition, in file order; all where count is 0 or there are no more.
[[nodiscard]] std::vector<SquadQuestion> question_sample(std::vector<SquadQuestion> questions, int count,
                                                         std::uint64_t seed);

}  // namespace casemate::cli
