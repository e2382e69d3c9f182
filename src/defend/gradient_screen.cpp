#include "defend/gradient_screen.h"

#include <algorithm>
#include <numeric>

namespace casemate {
namespace {

/// Tokens of one gradient call: bounds the memory that gradients take (4 * hidden bytes a token).
constexpr std::size_t kTokensAtOnce = 16384;

/// The segments to embed, those with the largest predicted drop first.
std::vector<std::size_t> worth_embedding(const RagMaskOptions& options, const SegmentSimilarities& predicted) {
  std::vector<std::size_t> order(predicted.perturbed.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return predicted.perturbed[a] < predicted.perturbed[b]; });
  const double whole = *predicted.whole;
  const double near = options.screen_share * threshold_of(options, whole);
  order.erase(
      std::find_if(order.begin(), order.end(), [&](std::size_t s) { return whole - predicted.perturbed[s] < near; }),
      order.end());
  if (order.size() > static_cast<std::size_t>(options.screen_exact))
    order.resize(static_cast<std::size_t>(options.screen_exact));
  return order;
}

/// Predictions for the passages `which`, written to `out`. False where the model cannot give finite gradients.
Result<bool> predict(const RagMaskOptions& options, const DifferentiableEncoder& encoder,
                     std::span<const MaskedPassage> passages, std::span<const std::size_t> which,
                     std::span<const float> query, std::vector<SegmentSimilarities>& out, MaskCosts& costs) {
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
    similarities.perturbed =
        predicted_similarities(passages[which[i]], options.perturb, result->gradient(i), result->presence_of(i),
                               encoder.word_embeddings(), encoder.tokenizer().mask_id(), *similarities.whole);
    similarities.exact.assign(similarities.perturbed.size(), 0);
  }
  return true;
}

/// Replaces predictions that are worth it by exact values.
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
  for (std::size_t i = 0; i < places.size(); ++i) {
    SegmentSimilarities& similarities = out[places[i].first];
    if ((*rows)[i].empty()) {
      similarities.failed = true;
      continue;
    }
    similarities.perturbed[places[i].second] = inner_product(query, (*rows)[i]);
    similarities.exact[places[i].second] = 1;
  }
  return {};
}

}  // namespace

std::vector<double> predicted_similarities(const MaskedPassage& passage, MaskAction action,
                                           std::span<const float> gradient, std::span<const float> presence,
                                           std::span<const float> word_embeddings, TokenId mask_id, double similarity) {
  const std::size_t hidden = passage.ids.empty() ? 0 : gradient.size() / passage.ids.size();
  const auto word = [&](TokenId id) { return word_embeddings.subspan(static_cast<std::size_t>(id) * hidden, hidden); };
  std::vector<double> out;
  for (const MaskedPassage::Segment& segment : passage.segments) {
    double change = 0;
    for (std::size_t t = segment.begin; t < segment.end; ++t) {
      if (action == MaskAction::kDelete) {
        change -= static_cast<double>(presence[t]);
        continue;
      }
      const auto own = gradient.subspan(t * hidden, hidden);
      change += inner_product(own, word(mask_id)) - inner_product(own, word(passage.ids[t]));
    }
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
    const auto predicted = predict(options, encoder, passages, which, query, out, costs);
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
