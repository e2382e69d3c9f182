// src/attack/hotflip_names.h
#pragma once

#include <string_view>

#include "casemate/attack/hotflip.h"

namespace casemate {

[[nodiscard]] std::string_view hotflip_name(FlipGoal goal, FlipPlace place);
[[nodiscard]] std::string_view flip_place_name(FlipPlace place);  ///< "prefix", "middle", "suffix", "spread"

}  // namespace casemate
