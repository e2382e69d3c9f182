// src/pipeline/defend_hits.h
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "casemate/pipeline/pipeline.h"

namespace casemate {

/// How many candidates each stage must hand on so that the last gives `top_k`: [defences + 1], the first is what
/// retrieval must find.
[[nodiscard]] std::vector<int> stage_sizes(std::span<const std::unique_ptr<RetrievalDefence>> defences, int top_k);

/// Runs one defence over `hits` (best first) and puts those it lets through in their place. Each passage that it looked
/// at has a verdict; those beyond its pool get one that says so. Passages that the defence added are read from `store`
/// and put to `added`; one that cannot be read any more is left out, with a verdict. Error: what defence and store say.
[[nodiscard]] Result<std::vector<Hit>> defend_hits(const RetrievalDefence& defence, const Store& store,
                                                   const DefenceQuery& query, std::vector<Hit> hits,
                                                   std::span<const PassageCandidate> candidates, int top_k,
                                                   StageEvidence& stage, std::vector<PassageCandidate>& added,
                                                   std::stop_token stop);

}  // namespace casemate
