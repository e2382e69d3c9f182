#include "casemate/defend/ragmask.h"

#include <algorithm>
#include <numeric>

#include "casemate/encoder/differentiable_encoder.h"
#include "defend/candidate_vectors.h"
#include "defend/mask_embedder.h"

namespace casemate {
namespace {

Status check_options(const RagMaskOptions& options) {
  const struct {
    std::string_view field;
    double value, low, high;
  } ranges[] = {
      {"ragmask.mask_length_tokens", static_cast<double>(options.mask_length_tokens), 1, 512},
      {"ragmask.delta", options.delta, 0, 1000},
      {"ragmask.delta_relative", options.delta_relative, 0, 1},
      {"ragmask.pool_factor", static_cast<double>(options.pool_factor), 1, 100},
      {"ragmask.screen_share", options.screen_share, 0, 1},
      {"ragmask.screen_exact", static_cast<double>(options.screen_exact), 1, 10000},
  };
  for (const auto& range : ranges) {
    if (Status good = check_range(range.field, range.value, range.low, range.high); !good) return good;
  }
  return {};
}

Status check_encoder(const RagMaskOptions& options, const Encoder& encoder) {
  const auto bad = [](const std::string& what) { return Error{ErrorCode::kInvalidOption, "ragmask: " + what}; };
  const Tokenizer& tokenizer = encoder.tokenizer();
  const bool masks = options.perturb == MaskAction::kMask || options.sanitise == MaskAction::kMask;
  if (masks && tokenizer.mask_id() < 0)
    return bad("this encoder's vocabulary has no mask token; use perturb: delete and sanitise: delete");
  if (tokenizer.prefix().empty() && tokenizer.suffix().empty())
    return bad("this encoder frames texts with no token, so that nothing may be left of a passage");
  if (options.screen == MaskScreen::kGradient && dynamic_cast<const DifferentiableEncoder*>(&encoder) == nullptr)
    return bad("screen: gradient needs an encoder with gradients; use screen: none");
  return {};
}

std::string reason_of(const MaskJudgement& judgement, std::size_t of_tokens_cut) {
  const std::size_t suspicious = judgement.suspicious();
  const std::size_t all = judgement.segments.size();
  std::string reason;
  if (!judgement.examined)
    return "not examined: as a whole it is farther from the query than what is left of those kept";
  if (all == 0) {
    reason = "it has no tokens to perturb";
  } else if (suspicious == 0) {
    reason = "no segment matters more to the similarity than delta";
  } else if (suspicious == all) {
    reason = all == 1 ? "its only segment is suspicious; ranked by what is left"
                      : "all its " + std::to_string(all) +
                            " segments are suspicious; "
                            "ranked by what is left";
  } else {
    reason = std::to_string(suspicious) + " of " + std::to_string(all) + " segments suspicious; ranked by what is left";
  }
  if (of_tokens_cut > 0)
    reason += "; " + std::to_string(of_tokens_cut) + " tokens lie beyond the encoder's limit and were not examined";
  if (judgement.embedding_replaced) reason += "; its embedding was missing or unusable and was made anew";
  return reason;
}

std::vector<TokenSpan> suspicious_spans(const PassageCandidate& candidate, const MaskJudgement& judgement) {
  std::vector<TokenSpan> spans;
  for (const SegmentJudgement& segment : judgement.segments) {
    if (segment.suspicious) spans.push_back(segment.bytes);
  }
  return joined_spans(candidate.text.bytes(), spans);
}

Verdict verdict_about(const PassageCandidate& candidate, const MaskJudgement& judgement,
                      std::span<const TokenSpan> masked) {
  if (judgement.failure) return verdict_of(candidate, Decision::kDropped, *judgement.failure);
  Verdict verdict = verdict_of(candidate, masked.empty() ? Decision::kKept : Decision::kMasked,
                               reason_of(judgement, judgement.tokens_cut));
  if (!judgement.examined) {
    verdict.measures = {{"similarity", judgement.similarity}};
    return verdict;
  }
  verdict.score = judgement.largest_drop();
  verdict.threshold = judgement.delta;
  const auto exact = std::count_if(judgement.segments.begin(), judgement.segments.end(),
                                   [](const SegmentJudgement& s) { return s.exact; });
  verdict.measures = {{"similarity", judgement.similarity},
                      {"sanitised_similarity", judgement.sanitised_similarity},
                      {"segments", static_cast<double>(judgement.segments.size())},
                      {"suspicious", static_cast<double>(judgement.suspicious())},
                      {"examined_exactly", static_cast<double>(exact)}};
  verdict.masked = character_spans(candidate.text.bytes(), masked);
  return verdict;
}

}  // namespace

std::string_view mask_action_name(MaskAction action) noexcept {
  return action == MaskAction::kMask ? "mask" : "delete";
}

RagMask::RagMask(const RagMaskOptions& options, const Encoder& encoder, PassageCache* cache)
    : options_(options), encoder_(encoder), embedder_(std::make_unique<MaskEmbedder>(options, encoder, cache)) {}
RagMask::~RagMask() = default;

Result<std::unique_ptr<RagMask>> RagMask::create(const RagMaskOptions& options, const Encoder& encoder,
                                                 PassageCache* cache) {
  if (Status good = check_options(options); !good) return good.error();
  if (Status good = check_encoder(options, encoder); !good) return good.error();
  return std::unique_ptr<RagMask>(new RagMask(options, encoder, cache));  // private constructor; owned at once
}

Parameters RagMask::parameters() const {
  Parameters out = {{"mask_length_tokens", std::to_string(options_.mask_length_tokens)}};
  if (options_.delta_relative > 0) {
    out.emplace_back("delta_relative", parameter_text(options_.delta_relative));
  } else {
    out.emplace_back("delta", parameter_text(options_.delta));
  }
  out.emplace_back("perturb", mask_action_name(options_.perturb));
  out.emplace_back("sanitise", mask_action_name(options_.sanitise));
  out.emplace_back("pool_factor", std::to_string(options_.pool_factor));
  out.emplace_back("screen", options_.screen == MaskScreen::kNone ? "none" : "gradient");
  if (options_.screen == MaskScreen::kGradient) {
    out.emplace_back("screen_share", parameter_text(options_.screen_share));
    out.emplace_back("screen_exact", std::to_string(options_.screen_exact));
  }
  if (options_.examine == MaskExamine::kReachable) out.emplace_back("examine", "reachable");
  out.emplace_back("text_out", options_.text_out == MaskTextOut::kOriginal ? "original" : "sanitised");
  return out;
}

int RagMask::pool_size(int top_k) const noexcept {
  return static_cast<int>(
      std::min<std::int64_t>(static_cast<std::int64_t>(std::max(top_k, 0)) * options_.pool_factor, 1'000'000'000));
}

Result<DefendedRanking> RagMask::rank(const DefenceQuery& query, std::span<const PassageCandidate> candidates,
                                      int top_k, std::stop_token stop) const {
  const auto pool = pool_of(candidates, pool_size(top_k));
  const auto report = options_.examine == MaskExamine::kReachable ? examine_reachable(query, pool, top_k, stop)
                                                                  : examine(query, pool, stop);
  if (!report) return report.error();
  DefendedRanking ranking;
  std::vector<std::size_t> order;
  std::vector<std::vector<TokenSpan>> masked(pool.size());
  for (std::size_t i = 0; i < pool.size(); ++i) {
    masked[i] = suspicious_spans(pool[i], report->judgements[i]);
    ranking.verdicts.push_back(verdict_about(pool[i], report->judgements[i], masked[i]));
    if (!report->judgements[i].failure) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const double x = report->judgements[a].sanitised_similarity;
    const double y = report->judgements[b].sanitised_similarity;
    return x != y ? x > y : pool[a].chunk < pool[b].chunk;
  });
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const std::size_t i = order[rank];
    Verdict& verdict = ranking.verdicts[i];
    if (rank >= static_cast<std::size_t>(std::max(top_k, 0))) {
      verdict.decision = Decision::kDropped;
      verdict.reason += "; others rank above it";
      continue;
    }
    if (verdict.decision == Decision::kKept && rank != i) verdict.decision = Decision::kMoved;
    DefendedPassage passage{i, report->judgements[i].sanitised_similarity, {}};
    if (options_.text_out == MaskTextOut::kSanitised && !masked[i].empty())
      passage.text_out = UntrustedText(text_without(pool[i].text.bytes(), masked[i], options_.sanitise));
    ranking.passages.push_back(std::move(passage));
  }
  const std::size_t failed = pool.size() - order.size();
  if (failed > 0) ranking.notes.push_back(std::to_string(failed) + " passages could not be examined and were dropped");
  return ranking;
}

Result<std::size_t> RagMask::precompute(std::string_view tenant, std::span<const PassageCandidate> passages,
                                        std::stop_token stop) const {
  constexpr std::size_t kAtOnce = 64;  // bounds what is in memory
  std::size_t made = 0;
  for (std::size_t first = 0; first < passages.size(); first += kAtOnce) {
    std::vector<MaskedPassage> kept;
    for (const PassageCandidate& passage : passages.subspan(first, std::min(kAtOnce, passages.size() - first)))
      kept.push_back(uncut_passage(passage));
    std::vector<MaskedPassage*> missing;
    for (MaskedPassage& passage : kept) {
      MaskEmbedder::Segments there;
      if (!embedder_->load(tenant, passage, there)) missing.push_back(&passage);
    }
    MaskCosts costs;
    const auto rows = embedder_->embed_segments(tenant, missing, stop, costs);
    if (!rows) return rows.error();
    made += static_cast<std::size_t>(
        std::count_if(rows->begin(), rows->end(), [](const auto& each) { return each.has_value(); }));
  }
  return made;
}

}  // namespace casemate
