// src/eval/planted_figures.h
#pragma once

#include <optional>
#include <string>

#include "casemate/attack/attack.h"

namespace casemate {

/// What a summary says of the documents that an attack made.
struct PlantedFigures {
  std::size_t documents = 0;
  std::size_t fell_back = 0;
  std::optional<double> similarity;  ///< mean over those that were optimised
};

[[nodiscard]] PlantedFigures planted_of(const CraftedAttack& crafted);

/// The same from a file of attack records. Error: NotFound; InvalidInput where it is not whole.
[[nodiscard]] Result<PlantedFigures> read_planted(const std::string& path);

}  // namespace casemate
