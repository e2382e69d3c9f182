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

/// To first order, the similarity after each segment is left out: the derivative with respect to each token's
/// `presence` [tokens], times the step from 1 to 0; the move of later positions is not counted. `similarity` is the
/// passage's own.
///
/// It serves for masking too. The nearer thought, the gradient times (mask token's embedding less the token's),
/// predicts nothing there: a step of ten whole embeddings is too far for a first order (docs/defences/ragmask.md has
/// figures).
[[nodiscard]] std::vector<double> predicted_similarities(const MaskedPassage& passage, std::span<const float> presence,
                                                         double similarity);

/// Cuts the passages. One forward and backward pass a passage, then exact embeddings of the segments whose predicted
/// drop is near or over the threshold, the largest first, at most `options.screen_exact` a passage; the rest keeps its
/// prediction. Passages whose segments are all in the cache are exact. Error: what the encoder says; Cancelled.
[[nodiscard]] Result<std::vector<SegmentSimilarities>> screen_by_gradient(
    const RagMaskOptions& options, const DifferentiableEncoder& encoder, const MaskEmbedder& embedder,
    std::string_view tenant, std::span<MaskedPassage> passages, std::span<const float> query, std::stop_token stop,
    MaskCosts& costs);

}  // namespace casemate
