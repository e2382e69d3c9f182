// casemate/attack/plant.h
#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "casemate/attack/attack.h"
#include "casemate/core/progress.h"
#include "casemate/defend/scan_defence.h"
#include "casemate/encoder/encoder.h"
#include "casemate/store/store.h"

namespace casemate {

/// Label and format of a planted document, which with kAttackIdPrefix tell it from any other.
inline constexpr char kAttackLabel[] = "attack";

/// Adds an attack's documents to a store, one chunk each, with the vectors that `recipes` make; a document planted
/// under the same id before is replaced. The encoder is the store's. Error: what encoder, recipes and store say, naming
/// the document that is refused; Cancelled between batches: what was added stays until `remove_planted`.
[[nodiscard]] Status plant_documents(Store& store, std::string_view tenant, const Encoder& encoder,
                                     std::span<const CraftedDocument> documents,
                                     std::span<const VectorRecipe* const> recipes, Progress& progress,
                                     std::stop_token stop);

/// Takes out what was planted for `tenant`, and nothing else. Returns how many documents. Error: what the store says.
[[nodiscard]] Result<std::size_t> remove_planted(Store& store, std::string_view tenant);

}  // namespace casemate
