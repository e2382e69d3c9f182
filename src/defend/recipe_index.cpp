#include "defend/recipe_index.h"

namespace casemate {

Status require_complete(const Store& store, std::string_view tenant, const VectorSnapshot& vectors,
                        const VectorRecipe& recipe, std::string_view defence) {
  if (!vectors.damaged().empty()) return {};
  const auto passages = store.snapshot(tenant);
  if (!passages) return passages.error();
  if ((*passages)->live_chunks() == vectors.live_chunks()) return {};
  return Error{ErrorCode::kInvalidInput, std::to_string((*passages)->live_chunks() - vectors.live_chunks()) + " of " +
                                             std::to_string((*passages)->live_chunks()) +
                                             " passages have no vectors \"" + recipe.kind() +
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
