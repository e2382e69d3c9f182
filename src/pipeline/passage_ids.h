// src/pipeline/passage_ids.h
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "casemate/store/document.h"

namespace casemate {

/// `count` of `ids`, drawn without repetition, ascending; all where there are no more.
[[nodiscard]] std::vector<ChunkId> draw_ids(std::vector<ChunkId> ids, std::size_t count, std::uint64_t seed,
                                            std::string_view stream);

}  // namespace casemate
