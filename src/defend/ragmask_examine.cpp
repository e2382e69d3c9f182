// What RAGMask finds about each candidate; ragmask.cpp makes a ranking of it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "casemate/defend/ragmask.h"
#include "casemate/encoder/differentiable_encoder.h"
#include "defend/candidate_vectors.h"
#include "defend/gradient_screen.h"
#include "defend/mask_embedder.h"
#include "defend/mask_similarity.h"

namespace casemate {
namespace {

Result<std::vector<float>> query_embedding(const DefenceQuery& query, const Encoder& encoder) {
  std::vector<float> embedding = query.embedding;
  if (embedding.empty()) {
    const std::string_view text[] = {query.text.bytes()};
    auto encoded = encoder.encode_queries(text);
    if (!encoded) return encoded.error().in("query");
    embedding = std::move(encoded->embeddings.values);
  }
  if (embedding.size() != encoder.info().dimension) {
    return Error{ErrorCode::kInvalidArgument, "ragmask: the query's embedding has " + std::to_string(embedding.size()) +
                                                  " values, the encoder's have " +
                                                  std::to_string(encoder.info().dimension)};
  }
  if (!all_finite(embedding)) return Error{ErrorCode::kInvalidArgument, "ragmask: the query's embedding is not finite"};
  return embedding;
}

/// The pool, equal texts once.
struct Pool {
  std::vector<MaskedPassage> passages;
  std::vector<std::size_t> of_candidate;  ///< index into `passages`
};

Pool gather(std::span<const PassageCandidate> candidates) {
  Pool pool;
  std::map<std::pair<Digest, Digest>, std::size_t> known;
  for (const PassageCandidate& candidate : candidates) {
    MaskedPassage passage = uncut_passage(candidate);
    const auto [place, is_new] = known.try_emplace({passage.content_hash, passage.text_hash}, pool.passages.size());
    if (is_new) pool.passages.push_back(std::move(passage));
    pool.of_candidate.push_back(place->second);
  }
  return pool;
}

/// Embeds every segment of every passage.
Result<std::vector<SegmentSimilarities>> examine_all(const MaskEmbedder& embedder, std::string_view tenant,
                                                     std::span<MaskedPassage> passages, std::span<const float> query,
                                                     std::stop_token stop, MaskCosts& costs) {
  std::vector<MaskedPassage*> pointers;
  for (MaskedPassage& passage : passages) pointers.push_back(&passage);
  const auto segments = embedder.embed_segments(tenant, pointers, stop, costs);
  if (!segments) return segments.error();
  std::vector<SegmentSimilarities> out;
  for (const auto& rows : *segments) out.push_back(similarities_of(rows, query));
  return out;
}

bool usable(std::span<const float> embedding, std::size_t dimension) {
  return embedding.size() == dimension && all_finite(embedding);
}

/// To each candidate as it is: by its own embedding, or one made anew where that is missing or unusable; NaN where the
/// encoder failed.
Result<std::vector<double>> whole_similarities(const MaskEmbedder& embedder, std::string_view tenant, const Pool& pool,
                                               std::span<const PassageCandidate> candidates,
                                               std::span<const SegmentSimilarities> segments,
                                               std::span<const float> query, std::stop_token stop, MaskCosts& costs) {
  std::vector<double> out(candidates.size());
  std::vector<MaskEmbedder::Variant> variants;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::size_t p = pool.of_candidate[i];
    if (usable(candidates[i].embedding, query.size())) {
      out[i] = inner_product(query, candidates[i].embedding);
    } else if (segments[p].whole) {
      out[i] = *segments[p].whole;
    } else {
      variants.push_back({&pool.passages[p], {}, MaskAction::kMask});
      places.push_back(i);
    }
  }
  const auto rows = embedder.embed_variants(tenant, variants, stop, costs);
  if (!rows) return rows.error();
  for (std::size_t v = 0; v < places.size(); ++v) {
    out[places[v]] = (*rows)[v].empty() ? std::numeric_limits<double>::quiet_NaN() : inner_product(query, (*rows)[v]);
  }
  return out;
}

/// Similarity of each candidate as it is, above which its ranking is not expected to end; infinite where only
/// examination tells.
std::vector<double> upper_bounds(std::span<const PassageCandidate> candidates, std::span<const float> query) {
  std::vector<double> bounds;
  for (const PassageCandidate& candidate : candidates) {
    bounds.push_back(usable(candidate.embedding, query.size()) ? inner_product(query, candidate.embedding)
                                                               : std::numeric_limits<double>::infinity());
  }
  return bounds;
}

}  // namespace

std::size_t MaskJudgement::suspicious() const {
  return static_cast<std::size_t>(
      std::count_if(segments.begin(), segments.end(), [](const SegmentJudgement& s) { return s.suspicious; }));
}

double MaskJudgement::largest_drop() const {
  double largest = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const double drop = similarity - segments[i].perturbed;
    largest = i == 0 ? drop : std::max(largest, drop);
  }
  return largest;
}

Result<MaskReport> RagMask::examine(const DefenceQuery& query, std::span<const PassageCandidate> candidates,
                                    std::stop_token stop) const {
  return examine_as(options_, query, candidates, stop);
}

Result<MaskReport> RagMask::examine_reachable(const DefenceQuery& query, std::span<const PassageCandidate> candidates,
                                              int top_k, std::stop_token stop) const {
  DefenceQuery embedded = query;
  auto q = query_embedding(query, encoder_);
  if (!q) return q.error();
  embedded.embedding = *std::move(q);
  const std::vector<double> bounds = upper_bounds(candidates, embedded.embedding);
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return bounds[a] > bounds[b]; });

  MaskReport report;
  report.judgements.resize(candidates.size());
  const auto wanted = static_cast<std::size_t>(std::max(top_k, 0));
  std::vector<double> ranked;  // what the examined ones are ranked by
  std::size_t next = 0;
  while (next < order.size()) {
    // Equal scores are ordered by id, so that only who is above the next one is safe from it.
    const auto above = static_cast<std::size_t>(
        std::count_if(ranked.begin(), ranked.end(), [&](double score) { return score > bounds[order[next]]; }));
    if (above >= wanted) break;
    const std::size_t end = std::min(order.size(), next + wanted - above);
    std::vector<PassageCandidate> some;
    for (std::size_t i = next; i < end; ++i) some.push_back(candidates[order[i]]);
    auto found = examine_as(options_, embedded, some, stop);
    if (!found) return found.error();
    report.costs.forward_tokens += found->costs.forward_tokens;
    report.costs.backward_tokens += found->costs.backward_tokens;
    for (MaskJudgement& judgement : found->judgements) {
      if (!judgement.failure) ranked.push_back(judgement.sanitised_similarity);
      report.judgements[order[next++]] = std::move(judgement);
    }
  }
  for (; next < order.size(); ++next) {
    MaskJudgement& judgement = report.judgements[order[next]];
    judgement.examined = false;
    const double bound = bounds[order[next]];
    judgement.similarity = judgement.sanitised_similarity = std::isfinite(bound) ? bound : 0.0;
    judgement.delta = threshold_of(options_, judgement.similarity);
  }
  return report;
}

Result<MaskReport> RagMask::examine_as(const RagMaskOptions& options, const DefenceQuery& query,
                                       std::span<const PassageCandidate> candidates, std::stop_token stop) const {
  const auto q = query_embedding(query, encoder_);
  if (!q) return q.error();
  Pool pool = gather(candidates);
  MaskReport report;
  auto found = options.screen == MaskScreen::kGradient
                   ? screen_by_gradient(options, dynamic_cast<const DifferentiableEncoder&>(encoder_), *embedder_,
                                        query.tenant, pool.passages, *q, stop, report.costs)
                   : examine_all(*embedder_, query.tenant, pool.passages, *q, stop, report.costs);
  if (!found) return found.error();

  const auto similarities =
      whole_similarities(*embedder_, query.tenant, pool, candidates, *found, *q, stop, report.costs);
  if (!similarities) return similarities.error();

  // Judge each segment, and collect which sanitised passages must be embedded.
  std::vector<MaskEmbedder::Variant> variants;
  std::vector<std::optional<std::size_t>> variant_of(candidates.size());
  std::map<std::pair<std::size_t, std::vector<std::size_t>>, std::size_t> known;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const MaskedPassage& passage = pool.passages[pool.of_candidate[i]];
    const SegmentSimilarities& segments = (*found)[pool.of_candidate[i]];
    MaskJudgement& judgement = report.judgements.emplace_back();
    judgement.tokens = passage.tokens;
    judgement.tokens_cut = passage.tokens_cut;
    if (segments.failed || std::isnan((*similarities)[i])) {
      judgement.failure = "the encoder cannot embed it, or not with a segment perturbed";
      continue;
    }
    judgement.embedding_replaced = !usable(candidates[i].embedding, q->size());
    judgement.similarity = (*similarities)[i];
    judgement.delta = threshold_of(options, judgement.similarity);
    std::vector<std::size_t> suspicious;
    for (std::size_t s = 0; s < passage.segments.size(); ++s) {
      const double perturbed = segments.perturbed[s];
      const bool harmless = perturbed + judgement.delta > judgement.similarity;
      judgement.segments.push_back({passage.segments[s].bytes, perturbed, segments.exact[s] != 0, !harmless});
      if (!harmless) suspicious.push_back(s);
    }
    judgement.sanitised_similarity = judgement.similarity;
    if (suspicious.empty()) continue;
    if (suspicious.size() == 1 && options.sanitise == options.perturb && segments.exact[suspicious[0]]) {
      judgement.sanitised_similarity = segments.perturbed[suspicious[0]];
      continue;
    }
    const auto [place, is_new] = known.try_emplace({pool.of_candidate[i], suspicious}, variants.size());
    if (is_new) variants.push_back({&passage, suspicious, options.sanitise});
    variant_of[i] = place->second;
  }
  const auto sanitised = embedder_->embed_variants(query.tenant, variants, stop, report.costs);
  if (!sanitised) return sanitised.error();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!variant_of[i]) continue;
    const std::vector<float>& row = (*sanitised)[*variant_of[i]];
    if (row.empty()) {
      report.judgements[i].failure = "the encoder cannot embed what is left of it";
    } else {
      report.judgements[i].sanitised_similarity = inner_product(*q, row);
    }
  }
  return report;
}

}  // namespace casemate
