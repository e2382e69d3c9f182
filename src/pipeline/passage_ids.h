// src/pipeline/passage_ids.h
#pragma once

#include <cstdint>
#include <vector>

#include "casemate/store/store.h"

namespace casemate {

/// Live chunks of a snapshot, ascending.
[[nodiscard]] std::vector<ChunkId> live_ids(const VectorSnapshot& snapshot);

/// `count` of `ids`, drawn without repetition, ascending; all where there are no more.
[[nodiscard]] std::vector<ChunkId> draw_ids(std::vector<ChunkId> ids, std::size_t count, std::uint64_t seed,
                                            std::string_view stream);

}  // namespace casemate
