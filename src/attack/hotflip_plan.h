// Which documents a HotFlip attack crafts, and what each aims at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attack/query_groups.h"
#include "casemate/attack/hotflip.h"
#include "casemate/encoder/encoder.h"

namespace casemate {

/// One document to craft.
struct HotFlipJob {
  const CorpusPassage* source = nullptr;
  const QueryGroup* group = nullptr;  ///< null: no query to aim at, a plain copy
  std::vector<std::string> queries;   ///< ids
  std::string_view lead;              ///< text of the query whose tokens come first
  std::string lead_id;
  bool query_cut = false;  ///< the retriever reads a part of it only
};

/// Jobs point into `groups` and into the input, which must outlive them; it is moved, not copied.
struct HotFlipPlan {
  std::vector<QueryGroup> groups;
  std::vector<HotFlipJob> jobs;
};

/// `documents_per_query` irrelevant documents for each target, or for each cluster of targets; blank queries get plain
/// copies. Error: what the encoder says; InvalidArgument where the corpus is too small.
[[nodiscard]] Result<HotFlipPlan> plan_hotflip(const HotFlip& attack, const AttackInput& input, const Encoder& encoder);

}  // namespace casemate
