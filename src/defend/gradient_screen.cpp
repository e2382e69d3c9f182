#include "defend/gradient_screen.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace casemate {
namespace {

/// Tokens of one gradient call: bounds the memory that gradients take (4 * hidden bytes a token).
constexpr std::size_t kTokensAtOnce = 16384;

/// The segments to embed, those with the largest predicted drop first. When masking, the prediction knows how segments
/// differ but not what mask tokens as such do, so being near the threshold means nothing yet.
std::vector<std::size_t> worth_embedding(const RagMaskOptions& options, const SegmentSimilarities& predicted) {
  std::vector<std::size_t> order(predicted.perturbed.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return predicted.perturbed[a] < predicted.perturbed[b]; });
  if (options.perturb == MaskAction::kDelete) {
    const double whole = *predicted.whole;
    const double near = options.screen_share * threshold_of(options, whole);
    const auto far = [&](std::size_t s) { return whole - predicted.perturbed[s] < near; };
    order.erase(std::find_if(order.begin(), order.end(), far), order.end());
  }
  if (order.size() > static_cast<std::size_t>(options.screen_exact))
    order.resize(static_cast<std::size_t>(options.screen_exact));
  return order;
}

/// Predictions for the passages `which`, written to `out`. False where the model cannot give finite gradients.
Result<bool> predict(const DifferentiableEncoder& encoder, std::span<const MaskedPassage> passages,
                     std::span<const std::size_t> which, std::span<const float> query,
                     std::vector<SegmentSimilarities>& out, MaskCosts& costs) {
  std::vector<std::vector<TokenId>> sequences;
  std::vector<float> towards;
  for (const std::size_t p : which) {
    sequences.push_back(passages[p].ids);
    towards.insert(towards.end(), query.begin(), query.end());
  }
  const auto result = encoder.gradient(sequences, towards);
  if (!result) {
    if (result.error().code == ErrorCode::kModel) return false;
    return result.error();
  }
  costs.forward_tokens += result->forward_tokens;
  costs.backward_tokens += result->backward_tokens;
  for (std::size_t i = 0; i < which.size(); ++i) {
    SegmentSimilarities& similarities = out[which[i]];
    similarities.whole = inner_product(query, result->embeddings.row(i));
    similarities.perturbed = predicted_similarities(passages[which[i]], result->presence_of(i), *similarities.whole);
    similarities.exact.assign(similarities.perturbed.size(), 0);
  }
  return true;
}

/// Replaces predictions that are worth it by exact values. When masking, the mean of what these differ from their
/// predictions is what mask tokens do to this passage, and moves its other predictions.
Status embed_worthy(const RagMaskOptions& options, const MaskEmbedder& embedder, std::string_view tenant,
                    std::span<const MaskedPassage> passages, std::span<const std::size_t> which,
                    std::span<const float> query, std::stop_token stop, std::vector<SegmentSimilarities>& out,
                    MaskCosts& costs) {
  std::vector<MaskEmbedder::Variant> variants;
  std::vector<std::pair<std::size_t, std::size_t>> places;  // passage, segment
  for (const std::size_t p : which) {
    for (const std::size_t s : worth_embedding(options, out[p])) {
      variants.push_back({&passages[p], {s}, options.perturb});
      places.emplace_back(p, s);
    }
  }
  const auto rows = embedder.embed_variants(tenant, variants, stop, costs);
  if (!rows) return rows.error();
  for (std::size_t i = 0; i < places.size();) {
    SegmentSimilarities& similarities = out[places[i].first];
    double residual = 0;
    const std::size_t first = i;
    for (; i < places.size() && places[i].first == places[first].first; ++i) {
      if ((*rows)[i].empty()) {
        similarities.failed = true;
        continue;
      }
      const double exact = inner_product(query, (*rows)[i]);
      residual += exact - std::exchange(similarities.perturbed[places[i].second], exact);
      similarities.exact[places[i].second] = 1;
    }
    if (options.perturb == MaskAction::kDelete) continue;
    for (std::size_t s = 0; s < similarities.perturbed.size(); ++s) {
      if (similarities.exact[s] == 0) similarities.perturbed[s] += residual / static_cast<double>(i - first);
    }
  }
  return {};
}

}  // namespace

std::vector<double> predicted_similarities(const MaskedPassage& passage, std::span<const float> presence,
                                           double similarity) {
  std::vector<double> out;
  for (const MaskedPassage::Segment& segment : passage.segments) {
    double change = 0;
    for (std::size_t t = segment.begin; t < segment.end; ++t) change -= static_cast<double>(presence[t]);
    out.push_back(similarity + change);
  }
  return out;
}

Result<std::vector<SegmentSimilarities>> screen_by_gradient(const RagMaskOptions& options,
                                                            const DifferentiableEncoder& encoder,
                                                            const MaskEmbedder& embedder, std::string_view tenant,
                                                            std::span<MaskedPassage> passages,
                                                            std::span<const float> query, std::stop_token stop,
                                                            MaskCosts& costs) {
  std::vector<SegmentSimilarities> out(passages.size());
  std::vector<std::size_t> missing;
  for (std::size_t p = 0; p < passages.size(); ++p) {
    MaskEmbedder::Segments cached;
    if (embedder.load(tenant, passages[p], cached)) {
      out[p] = similarities_of(cached, query);
      continue;
    }
    embedder.cut(passages[p]);
    missing.push_back(p);
  }
  for (std::size_t next = 0; next < missing.size();) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped while screening passages"};
    std::size_t end = next;
    for (std::size_t tokens = 0; end < missing.size() && tokens < kTokensAtOnce; ++end)
      tokens += passages[missing[end]].ids.size();
    const std::span<const std::size_t> which(missing.data() + next, end - next);
    next = end;
    const auto predicted = predict(encoder, passages, which, query, out, costs);
    if (!predicted) return predicted.error();
    if (*predicted) {
      const Status embedded = embed_worthy(options, embedder, tenant, passages, which, query, stop, out, costs);
      if (!embedded) return embedded.error();
      continue;
    }
    // A passage without finite gradients: all of these go the exact way, which tells which one it is.
    std::vector<MaskedPassage*> pointers;
    for (const std::size_t p : which) pointers.push_back(&passages[p]);
    const auto segments = embedder.embed_segments(tenant, pointers, stop, costs);
    if (!segments) return segments.error();
    for (std::size_t i = 0; i < which.size(); ++i) out[which[i]] = similarities_of((*segments)[i], query);
  }
  return out;
}

}  // namespace casemate
