#include "casemate/defend/ragmask_calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "defend/candidate_vectors.h"
#include "defend/mask_embedder.h"
#include "defend/mask_similarity.h"

namespace casemate {
namespace {

using SegmentSet = std::vector<std::size_t>;

/// A case with what RAGMask found at any delta.
struct Examined {
  const MaskCalibrationCase* source = nullptr;
  std::vector<MaskJudgement> judgements;
};

double scale_of(const RagMaskOptions& options, const MaskJudgement& judgement) {
  return options.delta_relative > 0 ? std::abs(judgement.similarity) : 1.0;
}

/// The rule of RagMask::examine at `delta`.
SegmentSet suspicious_at(const MaskJudgement& judgement, double delta, double scale) {
  SegmentSet out;
  for (std::size_t s = 0; s < judgement.segments.size(); ++s) {
    if (!(judgement.segments[s].perturbed + delta * scale > judgement.similarity)) out.push_back(s);
  }
  return out;
}

Status check(std::span<const MaskCalibrationCase> cases, const MaskCalibrationSettings& settings) {
  if (Status good = check_range("top_k", settings.top_k, 1, 1000); !good) return good;
  if (Status good = check_range("clean_success_loss", settings.clean_success_loss, 0, 1); !good) return good;
  for (const double delta : settings.deltas) {
    if (Status good = check_range("deltas", delta, 0, 1000); !good) return good;
  }
  bool any = false;
  for (std::size_t c = 0; c < cases.size(); ++c) {
    for (const auto* list : {&cases[c].relevant, &cases[c].poisoned}) {
      for (const std::size_t index : *list) {
        if (index >= cases[c].candidates.size()) {
          return Error{ErrorCode::kInvalidArgument, "calibration case " + std::to_string(c) + ": candidate " +
                                                        std::to_string(index) + " of " +
                                                        std::to_string(cases[c].candidates.size())};
        }
      }
    }
    any = any || !cases[c].relevant.empty();
  }
  if (any) return {};
  return Error{ErrorCode::kInvalidArgument,
               "calibration needs questions whose answer is among the candidates; none of " +
                   std::to_string(cases.size()) + " has one"};
}

std::vector<double> make_grid(std::span<const double> clean_drops, std::span<const double> asked, double largest_drop) {
  std::vector<double> grid(asked.begin(), asked.end());
  if (grid.empty()) {
    for (const double q : {0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 1.0})
      grid.push_back(std::max(quantile(clean_drops, q), 0.0));
  }
  // One at which nothing is suspicious: what the pool gives undefended.
  grid.push_back(std::max(largest_drop, 0.0) * (1 + 1e-9) + 1e-12);
  std::sort(grid.begin(), grid.end());
  grid.erase(std::unique(grid.begin(), grid.end()), grid.end());
  return grid;
}

bool any_in_front(const std::vector<std::size_t>& wanted, std::span<const std::size_t> order, int top_k) {
  const auto front = order.first(std::min(order.size(), static_cast<std::size_t>(top_k)));
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](std::size_t i) { return std::find(front.begin(), front.end(), i) != front.end(); });
}

/// Sums over cases for one delta.
struct Tally {
  std::size_t successes = 0, attacks = 0, suspicious = 0, segments = 0;
};

/// Ranks one case at every delta of the grid. `similarity_of(candidate, set)` is the sanitised one, NaN where it
/// failed.
template <typename SimilarityOf>
void rank_case(const Examined& examined, const RagMaskOptions& options, int top_k, std::span<const double> grid,
               const SimilarityOf& similarity_of, std::vector<Tally>& tallies) {
  const MaskCalibrationCase& source = *examined.source;
  for (std::size_t g = 0; g < grid.size(); ++g) {
    std::vector<std::pair<double, std::size_t>> scored;
    for (std::size_t i = 0; i < source.candidates.size(); ++i) {
      const MaskJudgement& judgement = examined.judgements[i];
      if (judgement.failure) continue;
      const SegmentSet set = suspicious_at(judgement, grid[g], scale_of(options, judgement));
      const double similarity = set.empty() ? judgement.similarity : similarity_of(i, set);
      if (!std::isnan(similarity)) scored.emplace_back(similarity, i);
      if (std::find(source.relevant.begin(), source.relevant.end(), i) == source.relevant.end()) continue;
      tallies[g].suspicious += set.size();
      tallies[g].segments += judgement.segments.size();
    }
    std::stable_sort(scored.begin(), scored.end(), [&](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first
                                : source.candidates[a.second].chunk < source.candidates[b.second].chunk;
    });
    std::vector<std::size_t> order;
    for (const auto& [similarity, i] : scored) order.push_back(i);
    if (any_in_front(source.relevant, order, top_k)) ++tallies[g].successes;
    if (any_in_front(source.poisoned, order, top_k)) ++tallies[g].attacks;
  }
}

void fill_curve(std::span<const double> grid, std::span<const Tally> tallies, const MaskCalibrationSettings& settings,
                MaskCalibration& out) {
  const auto share = [](std::size_t part, std::size_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  for (std::size_t g = 0; g < grid.size(); ++g) {
    MaskCalibrationPoint point{grid[g], share(tallies[g].successes, out.questions),
                               share(tallies[g].suspicious, tallies[g].segments), std::nullopt};
    if (out.attacked_questions > 0) point.attack_success = share(tallies[g].attacks, out.attacked_questions);
    out.curve.push_back(point);
  }
  out.undefended_success = out.curve.back().clean_success;
  out.undefended_attack_success = out.curve.back().attack_success;
  for (std::size_t g = grid.size(); g-- > 0;) {
    if (out.curve[g].clean_success < out.undefended_success - settings.clean_success_loss - 1e-12) break;
    out.delta = out.curve[g].delta;
  }
}

}  // namespace

double quantile(std::span<const double> sorted, double q) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted[std::min(rank == 0 ? 0 : rank - 1, sorted.size() - 1)];
}

Result<MaskCalibration> calibrate_ragmask(const RagMask& ragmask, std::span<const MaskCalibrationCase> cases,
                                          const MaskCalibrationSettings& settings, std::stop_token stop) {
  if (Status good = check(cases, settings); !good) return good.error();
  const RagMaskOptions& options = ragmask.options();
  RagMaskOptions all_harmless = options;
  all_harmless.screen = MaskScreen::kNone;
  all_harmless.delta = std::numeric_limits<double>::max();
  all_harmless.delta_relative = 0;

  MaskCalibration out;
  std::vector<Examined> examined;
  double largest_drop = 0;
  for (const MaskCalibrationCase& source : cases) {
    auto report = ragmask.examine_as(all_harmless, source.query, source.candidates, stop);
    if (!report) return report.error();
    for (std::size_t i = 0; i < source.candidates.size(); ++i) {
      const MaskJudgement& judgement = report->judgements[i];
      if (judgement.failure) ++out.failed_passages;
      const bool relevant = std::find(source.relevant.begin(), source.relevant.end(), i) != source.relevant.end();
      const double scale = scale_of(options, judgement);
      for (const SegmentJudgement& segment : judgement.segments) {
        if (scale <= 0) continue;
        const double drop = (judgement.similarity - segment.perturbed) / scale;
        largest_drop = std::max(largest_drop, drop);
        if (relevant) out.clean_drops.push_back(drop);
      }
    }
    ++out.questions;
    if (!source.poisoned.empty()) ++out.attacked_questions;
    examined.push_back({&source, std::move(report->judgements)});
  }
  std::sort(out.clean_drops.begin(), out.clean_drops.end());
  const std::vector<double> grid = make_grid(out.clean_drops, settings.deltas, largest_drop);

  std::vector<Tally> tallies(grid.size());
  for (const Examined& each : examined) {
    const MaskCalibrationCase& source = *each.source;
    std::vector<MaskedPassage> passages;
    for (const PassageCandidate& candidate : source.candidates) passages.push_back(uncut_passage(candidate));
    std::map<std::pair<std::size_t, SegmentSet>, std::size_t> places;
    std::vector<MaskEmbedder::Variant> variants;
    for (std::size_t i = 0; i < passages.size(); ++i) {
      if (each.judgements[i].failure) continue;
      for (const double delta : grid) {
        SegmentSet set = suspicious_at(each.judgements[i], delta, scale_of(options, each.judgements[i]));
        if (set.empty() || !places.try_emplace({i, set}, variants.size()).second) continue;
        if (passages[i].ids.empty()) ragmask.embedder_->cut(passages[i]);
        variants.push_back({&passages[i], std::move(set), options.sanitise});
      }
    }
    MaskCosts costs;
    const auto rows = ragmask.embedder_->embed_variants(source.query.tenant, variants, stop, costs);
    if (!rows) return rows.error();
    std::vector<float> query = source.query.embedding;
    if (query.empty()) {
      const std::string_view text[] = {source.query.text.bytes()};
      auto encoded = ragmask.encoder_.encode_queries(text);
      if (!encoded) return encoded.error();
      query = std::move(encoded->embeddings.values);
    }
    const auto similarity_of = [&](std::size_t i, const SegmentSet& set) {
      const std::vector<float>& row = (*rows)[places.at({i, set})];
      return row.empty() ? std::numeric_limits<double>::quiet_NaN() : inner_product(query, row);
    };
    rank_case(each, options, settings.top_k, grid, similarity_of, tallies);
  }
  fill_curve(grid, tallies, settings, out);
  return out;
}

}  // namespace casemate
