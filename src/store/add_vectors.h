#pragma once

#include <span>
#include <string_view>

#include "store_state.h"

namespace casemate {

/// See `Store::add_vectors`. Throws Failure.
void add_vectors(StoreState& store, std::string_view tenant, std::span<const ChunkId> chunk_ids,
                 const ExtraVectors& vectors);

}  // namespace casemate
