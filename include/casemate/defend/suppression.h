// casemate/defend/suppression.h
#pragma once

#include <memory>

#include "casemate/defend/retrieval_defence.h"

namespace casemate {

/// Range of each field in its comment.
struct SuppressionOptions {
  int pool_size = 20;        ///< candidates examined, at least top_k; in [1, 1000]
  double max_cosine = 0.97;  ///< in (0, 1]; 1 drops exact copies only
};

/// Drops candidates that are near copies of a better-ranked one.
///
/// Reproduces the near-duplicate suppression of the SQuAD poisoning study as published: candidates are taken in score
/// order, one is dropped if its cosine to any kept candidate reaches `max_cosine`, and lower-ranked candidates fill the
/// places. The first candidate is therefore never reconsidered, which is the method's known weakness (a poisoned copy
/// that ranks first suppresses the original); see docs/defences/suppression.md and Fingerprint.
class Suppression final : public RetrievalDefence {
 public:
  /// Error: InvalidOption, naming field, value and range.
  [[nodiscard]] static Result<std::unique_ptr<Suppression>> create(const SuppressionOptions& options);

  [[nodiscard]] std::string_view name() const noexcept override { return "suppression"; }
  [[nodiscard]] Parameters parameters() const override;
  [[nodiscard]] int pool_size(int top_k) const noexcept override;
  [[nodiscard]] Result<DefendedRanking> rank(const DefenceQuery& query, std::span<const PassageCandidate> candidates,
                                             int top_k, std::stop_token stop) const override;

 private:
  explicit Suppression(const SuppressionOptions& options) : options_(options) {}
  SuppressionOptions options_;
};

}  // namespace casemate
