// What an aggregated answer leaves in the evidence.
#pragma once

#include <span>

#include "casemate/generate/robust_rag.h"
#include "casemate/pipeline/pipeline.h"

namespace casemate {

/// The stage "generate": its choices and what a reader must know.
[[nodiscard]] StageEvidence generation_stage(const LanguageModel& model, const RobustOptions& options,
                                             const RobustAnswer& answer, std::span<const Hit> hits);
[[nodiscard]] GenerationEvidence generation_evidence(const LanguageModel& model, const Question& question,
                                                     const RobustOptions& options, const RobustAnswer& answer,
                                                     std::span<const Hit> hits);
/// What was made harmless in a prompt for a remote model.
void note_neutralised(std::span<const NeutralisedString> changed, StageEvidence& stage);

}  // namespace casemate
