#include "defend/recipe_index.h"

#include <algorithm>
#include <iterator>

#include "store/live_ids.h"

namespace casemate {

namespace {

bool lies_in_damage(const VectorSnapshot& vectors, ChunkId id) {
  return std::any_of(vectors.damaged().begin(), vectors.damaged().end(), [id](const DamagedSegment& segment) {
    return segment.first_chunk <= id && id <= segment.last_chunk;
  });
}

}  // namespace

Status require_complete(const Store& store, std::string_view tenant, const VectorSnapshot& vectors,
                        std::string_view kind, std::string_view defence) {
  const auto passages = store.snapshot(tenant);
  if (!passages) return passages.error();
  // A commit came in between: the next query looks at both as of that commit.
  if ((*passages)->generation() != vectors.generation()) return {};
  const std::vector<ChunkId> all = live_ids(**passages);
  const std::vector<ChunkId> have = live_ids(vectors);
  std::vector<ChunkId> missing;
  std::set_difference(all.begin(), all.end(), have.begin(), have.end(), std::back_inserter(missing));
  std::erase_if(missing, [&](ChunkId id) { return lies_in_damage(vectors, id); });
  if (missing.empty()) return {};
  return Error{ErrorCode::kInvalidInput, std::to_string(missing.size()) + " of " + std::to_string(all.size()) +
                                             " passages have no vectors \"" + std::string(kind) +
                                             "\", which this defence scans (casemate prepare STORE --defence " +
                                             std::string(defence) + " makes them)"};
}

std::vector<std::string> damage_notes(const VectorSnapshot& vectors) {
  std::vector<std::string> out;
  for (const DamagedSegment& segment : vectors.damaged())
    out.push_back(segment.file + " is damaged (" + segment.reason + "): its passages are not searched");
  return out;
}

}  // namespace casemate
