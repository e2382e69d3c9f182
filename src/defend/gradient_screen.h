// src/defend/gradient_screen.h
#pragma once

#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/encoder/differentiable_encoder.h"
#include "defend/mask_embedder.h"
#include "defend/mask_similarity.h"

namespace casemate {

/// To first order, the similarity after each segment is perturbed: `gradient` [tokens, hidden] and `presence` [tokens]
/// are those of the similarity, `similarity` its value. Masking moves a token's word embedding to the mask token's;
/// deleting takes its presence from 1 to 0 (the move of later positions is not counted).
[[nodiscard]] std::vector<double> predicted_similarities(const MaskedPassage& passage, MaskAction action,
                                                         std::span<const float> gradient,
                                                         std::span<const float> presence,
                                                         std::span<const float> word_embeddings, TokenId mask_id,
                                                         double similarity);

/// Cuts the passages. One forward and backward pass a passage, then exact embeddings of the segments whose predicted
/// drop is near or over the threshold, the largest first, at most `options.screen_exact` a passage; the rest keeps its
/// prediction. Passages whose segments are all in the cache are exact. Error: what the encoder says; Cancelled.
[[nodiscard]] Result<std::vector<SegmentSimilarities>> screen_by_gradient(
    const RagMaskOptions& options, const DifferentiableEncoder& encoder, const MaskEmbedder& embedder,
    std::string_view tenant, std::span<MaskedPassage> passages, std::span<const float> query, std::stop_token stop,
    MaskCosts& costs);

}  // namespace casemate
