#include "pipeline/passage_ids.h"

#include <algorithm>

#include "casemate/core/random.h"

namespace casemate {

std::vector<ChunkId> draw_ids(std::vector<ChunkId> ids, std::size_t count, std::uint64_t seed,
                              std::string_view stream) {
  if (count >= ids.size()) return ids;
  RandomStream random(seed, stream);
  for (std::size_t i = 0; i < count; ++i) std::swap(ids[i], ids[i + random.below(ids.size() - i)]);
  ids.resize(count);
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace casemate
