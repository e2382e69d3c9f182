// src/defend/fingerprint_ranking.h
#pragma once

#include <memory>
#include <set>
#include <span>
#include <stop_token>
#include <vector>

#include "defend/copy_finder.h"

namespace casemate {

/// One call of Fingerprint::rank. Used once, by one thread. All arguments must outlive it.
class FingerprintRanking {
 public:
  FingerprintRanking(const FingerprintOptions& options, const Store& store, const ThreadPool& pool,
                     const SealedSet& set, const DefenceQuery& query, std::stop_token stop)
      : options_(options), store_(store), pool_(pool), set_(set), query_(query), stop_(std::move(stop)) {}

  /// Examines the first `pool` of the candidates, and further passages of the dense ranking where that is allowed,
  /// until `pool` passages survive. Error: as `rank`.
  [[nodiscard]] Result<DefendedRanking> run(std::span<const PassageCandidate> candidates, std::size_t pool,
                                            std::size_t top_k);

 private:
  struct Survivor {
    std::size_t candidate = 0;
    double score = 0;
    std::size_t verdict = 0;
  };

  [[nodiscard]] const ChunkSet& visible() const { return allowed_ ? visible_ : set_.chunks; }
  [[nodiscard]] Status see_filter();
  [[nodiscard]] Status extend(std::size_t pool, std::size_t top_k);
  [[nodiscard]] Result<std::vector<DenseHit>> search(std::size_t depth, const ChunkSet* allowed) const;
  /// Examines those of the passages that were not yet.
  [[nodiscard]] Status take(std::span<const DenseHit> hits);
  /// Examines `passages`, which stand at `first`, `first` + 1, ... of candidates and added.
  [[nodiscard]] Status judge(std::span<const PassageCandidate> passages, std::size_t first);
  /// Adds the verdict; false where the passage goes.
  bool judge_one(const PassageCandidate& passage, const Comparison& found, double& score);
  bool judge_unlike(double p_value, Verdict& verdict, double& score) const;
  void rank_survivors(std::size_t top_k);
  /// Names sealed documents that are not as they were sealed, where the caller may see them.
  void tell_what_is_not_covered();

  const FingerprintOptions& options_;
  const Store& store_;
  const ThreadPool& pool_;
  const SealedSet& set_;
  const DefenceQuery& query_;
  std::stop_token stop_;
  std::size_t given_ = 0;                    ///< candidates, examined or not
  std::shared_ptr<const ChunkSet> allowed_;  ///< null: everything
  ChunkSet visible_;                         ///< sealed passages that the caller may see, where not all
  std::set<ChunkId> examined_;
  std::vector<Survivor> survivors_;
  DefendedRanking out_;
};

}  // namespace casemate
