// src/store/live_ids.h
#pragma once

#include <vector>

#include "casemate/store/vector_snapshot.h"

namespace casemate {

/// Live chunks of a snapshot, ascending.
[[nodiscard]] std::vector<ChunkId> live_ids(const VectorSnapshot& snapshot);

}  // namespace casemate
