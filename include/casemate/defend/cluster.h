// casemate/defend/cluster.h
#pragma once

#include <memory>

#include "casemate/defend/retrieval_defence.h"

namespace casemate {

struct ClusterOptions {
  int pool_size = 10;         ///< candidates examined, at least top_k; in [1, 200]
  double min_cosine = 0.88;   ///< a cluster whose mean pairwise cosine is above this is suspicious; in [-1, 1]
  double min_rouge_l = 0.25;  ///< of a suspicious cluster, passages that share this much wording go; in [0, 1]
};

/// Drops planted passages that resemble each other more than real ones do.
///
/// After TrustRAG (Zhou et al. 2025): k-means with two clusters over the pool's embeddings; where a cluster of at least
/// two is denser than `min_cosine`, the denser one is suspicious. So that clean passages about one thing stay, a member
/// goes only if its mean ROUGE-L to the other members is above `min_rouge_l`. Clustering starts from every candidate
/// with the one farthest from it and the best result wins, so there is no randomness. One planted passage alone is not
/// found by it.
class Cluster final : public RetrievalDefence {
 public:
  /// Error: InvalidOption.
  [[nodiscard]] static Result<std::unique_ptr<Cluster>> create(const ClusterOptions& options);

  [[nodiscard]] std::string_view name() const noexcept override { return "cluster"; }
  [[nodiscard]] Parameters parameters() const override;
  [[nodiscard]] int pool_size(int top_k) const noexcept override;
  [[nodiscard]] Result<DefendedRanking> rank(const DefenceQuery& query, std::span<const PassageCandidate> candidates,
                                             int top_k, std::stop_token stop) const override;

 private:
  explicit Cluster(const ClusterOptions& options) : options_(options) {}
  ClusterOptions options_;
};

}  // namespace casemate
