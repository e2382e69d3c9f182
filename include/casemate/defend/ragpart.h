// casemate/defend/ragpart.h
#pragma once

#include <memory>

#include "casemate/defend/defences.h"
#include "casemate/defend/ragpart_index.h"
#include "casemate/text/fragments.h"

namespace casemate {

class VoteScan;

struct RagPartOptions {
  int fragments = 5;                        ///< N, pieces that a passage is cut into; in [1, 20]
  FragmentUnit unit = FragmentUnit::kWord;  ///< where it may be cut
  int combination = 3;                      ///< k, pieces whose mean is one vector; in [1, fragments]
  RagPartAggregation aggregation = RagPartAggregation::kMajority;
  bool renormalise = false;  ///< compare by cosine to the mean instead of by inner product
};

/// RAGPart (arXiv 2512.24268, section 3.1): a passage is cut into N fragments, each choice of k of them votes for the
/// passages nearest to the query by the mean of those k embeddings, and the most voted are retrieved. A poison that
/// sits in few fragments reaches few of the lists. Exactly the result of C(N, k) databases, by one scan; see
/// RagPartIndex.
class RagPart final : public ScanDefence {
 public:
  /// Error: InvalidOption; InvalidArgument without an encoder.
  [[nodiscard]] static Result<std::unique_ptr<RagPart>> create(const RagPartOptions& options,
                                                               const DefenceServices& services);
  ~RagPart() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "ragpart"; }
  [[nodiscard]] Parameters parameters() const override;
  [[nodiscard]] const VectorRecipe& recipe() const noexcept override;
  [[nodiscard]] Result<ScanOutcome> scan(const Store& store, const DefenceQuery& query, int top_k,
                                         const ChunkSet* allowed, const ThreadPool& pool,
                                         std::stop_token stop) const override;

  [[nodiscard]] const RagPartOptions& options() const noexcept { return options_; }
  /// What `scan` searches with for `top_k` results.
  [[nodiscard]] RagPartSearchOptions search_options(const DefenceQuery& query, int top_k) const;
  /// The same scan with every list kept, for the retrieval condition of certificates. Error: as `scan`; Limit for too
  /// many entries.
  [[nodiscard]] Result<RagPartRanking> ranking(const Store& store, const DefenceQuery& query, int top_k,
                                               const ChunkSet* allowed, const ThreadPool& pool) const;

 private:
  RagPart(const RagPartOptions& options, std::unique_ptr<VoteScan> scan);
  RagPartOptions options_;
  std::unique_ptr<VoteScan> scan_;
};

struct NaiveOptions {
  int fragments = 5;                        ///< N; in [1, 20]
  FragmentUnit unit = FragmentUnit::kWord;  ///< where a passage may be cut
  int combination = 3;  ///< k, pieces joined as text and embedded together; C(N, k) may be at most 20
  RagPartAggregation aggregation = RagPartAggregation::kMajority;
};

/// The baseline that RAGPart's paper compares with (its section 3.1): each choice of k fragments is joined as text and
/// embedded, so that any choice with one poisoned fragment is poisoned. C(N, k) embeddings a passage instead of N.
class Naive final : public ScanDefence {
 public:
  /// Error: as `RagPart::create`.
  [[nodiscard]] static Result<std::unique_ptr<Naive>> create(const NaiveOptions& options,
                                                             const DefenceServices& services);
  ~Naive() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "naive"; }
  [[nodiscard]] Parameters parameters() const override;
  [[nodiscard]] const VectorRecipe& recipe() const noexcept override;
  [[nodiscard]] Result<ScanOutcome> scan(const Store& store, const DefenceQuery& query, int top_k,
                                         const ChunkSet* allowed, const ThreadPool& pool,
                                         std::stop_token stop) const override;

 private:
  Naive(const NaiveOptions& options, std::unique_ptr<VoteScan> scan);
  NaiveOptions options_;
  std::unique_ptr<VoteScan> scan_;
};

}  // namespace casemate
