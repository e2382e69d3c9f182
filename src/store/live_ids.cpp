#include "live_ids.h"

#include <algorithm>

namespace casemate {

std::vector<ChunkId> live_ids(const VectorSnapshot& snapshot) {
  std::vector<ChunkId> ids;
  ids.reserve(snapshot.live_chunks());
  for (const VectorBlock& block : snapshot.blocks()) {
    for (std::size_t i = 0; i < block.chunks; ++i) {
      if (block.live[i] != 0) ids.push_back(block.chunk_ids[i]);
    }
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace casemate
