// src/defend/recipe_index.h
#pragma once

#include <string_view>

#include "casemate/defend/scan_defence.h"

namespace casemate {

/// Error: InvalidInput where passages of `tenant` have no vectors of `kind`, which are `vectors`: they would never be
/// found, and nobody would notice. Vectors lost with a damaged segment are no error here, the caller tells them.
[[nodiscard]] Status require_complete(const Store& store, std::string_view tenant, const VectorSnapshot& vectors,
                                      std::string_view kind, std::string_view defence);

/// A note for each damaged segment.
[[nodiscard]] std::vector<std::string> damage_notes(const VectorSnapshot& vectors);

}  // namespace casemate
