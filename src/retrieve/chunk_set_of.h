// src/retrieve/chunk_set_of.h
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "casemate/store/vector_snapshot.h"

namespace casemate {

[[nodiscard]] inline ChunkSet chunk_set_of(std::span<const ChunkId> ids) {
  std::vector<ChunkRange> ranges;
  for (const ChunkId id : ids) {
    if (!ranges.empty() && ranges.back().end == id) {
      ++ranges.back().end;
    } else {
      ranges.push_back({id, id + 1});
    }
  }
  return ChunkSet(std::move(ranges));
}

}  // namespace casemate
