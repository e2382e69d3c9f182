#include "casemate/defend/suppression.h"

#include <algorithm>

#include "defend/candidate_vectors.h"

namespace casemate {

Result<std::unique_ptr<Suppression>> Suppression::create(const SuppressionOptions& options) {
  if (Status good = check_range("suppression.pool_size", options.pool_size, 1, 1000); !good) return good.error();
  if (!(options.max_cosine > 0))
    return Error{ErrorCode::kInvalidOption, "suppression.max_cosine must be above 0 and at most 1"};
  if (Status good = check_range("suppression.max_cosine", options.max_cosine, 0, 1); !good) return good.error();
  return std::unique_ptr<Suppression>(new Suppression(options));  // private constructor; owned at once
}

Parameters Suppression::parameters() const {
  return {{"pool_size", std::to_string(options_.pool_size)}, {"max_cosine", parameter_text(options_.max_cosine)}};
}

int Suppression::pool_size(int top_k) const noexcept { return std::max(top_k, options_.pool_size); }

Result<DefendedRanking> Suppression::rank(const DefenceQuery& /*query*/, std::span<const PassageCandidate> candidates,
                                          int top_k, std::stop_token stop) const {
  const auto pool = pool_of(candidates, pool_size(top_k));
  if (Status good = require_embeddings(pool, name()); !good) return good.error();
  DefendedRanking ranking;
  for (std::size_t i = 0; i < pool.size(); ++i) {
    if (ranking.passages.size() == static_cast<std::size_t>(top_k)) break;
    if (stop.stop_requested()) return cancelled(name());
    double nearest = -2;
    std::size_t original = 0;
    for (const DefendedPassage& kept : ranking.passages) {
      const double similarity = cosine(pool[i].embedding, pool[kept.candidate].embedding);
      if (similarity > nearest) {
        nearest = similarity;
        original = kept.candidate;
      }
    }
    // Rounding puts the cosine of exact copies a hair below 1.
    const bool copy = nearest >= options_.max_cosine - 1e-9;
    Verdict verdict = verdict_of(pool[i], copy ? Decision::kDropped : Decision::kKept,
                                 copy ? "near copy of a better-ranked passage" : "no near copy ranks above");
    if (nearest >= -1.5) {
      verdict.score = nearest;
      verdict.threshold = options_.max_cosine;
    }
    if (copy) verdict.copy_of = pool[original].chunk;
    if (!copy) ranking.passages.push_back({i, pool[i].score});
    ranking.verdicts.push_back(std::move(verdict));
  }
  return ranking;
}

}  // namespace casemate
