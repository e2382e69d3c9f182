// src/pipeline/search.h
#pragma once

#include <span>
#include <vector>

#include "casemate/generate/vanilla.h"
#include "casemate/pipeline/pipeline.h"

namespace casemate {

/// Candidates with their texts, and what defences look at; both have the same length and order.
struct LoadedHits {
  std::vector<Hit> hits;
  std::vector<PassageCandidate> passages;
};

/// Reads the text and record of each candidate, and its embedding from `index` (may be null). A chunk that was deleted
/// meanwhile or is damaged is left out, with a verdict. Verdicts that a scan gave already are kept; other candidates
/// get one.
[[nodiscard]] Result<LoadedHits> load_hits(const Store& store, std::string_view tenant, const Candidates& candidates,
                                           const DenseIndex* index, StageEvidence& stage);
/// Embeds the texts of passages without an embedding (their segment is damaged; words found them), and notes how many.
[[nodiscard]] Status embed_missing(const Encoder& encoder, std::span<PassageCandidate> passages, StageEvidence& stage);

/// "any of a, b; all of c", or "none".
[[nodiscard]] std::string describe_filter(const DocumentFilter& filter);

/// Hits as prompts show them.
[[nodiscard]] std::vector<PromptPassage> prompt_passages(std::span<const Hit> hits);

}  // namespace casemate
