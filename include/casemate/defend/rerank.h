// casemate/defend/rerank.h
#pragma once

#include <memory>

#include "casemate/defend/defences.h"

namespace casemate {

enum class RerankBy : std::uint8_t {
  kLikelihood,    ///< log-probability a token that the language model gives the query after the passage
  kCrossEncoder,  ///< an imported SequenceClassification checkpoint
};

struct RerankOptions {
  int pool_size = 20;  ///< candidates examined, at least top_k; in [1, 1000]
  RerankBy by = RerankBy::kLikelihood;
};

/// Ranks the pool anew by a second model, which an attacker who fitted a passage to the retriever did not see.
/// Nothing is judged suspicious: passages that end beyond top_k are dropped as worse. Likelihood after Sachan et al.
/// 2022 (query generation).
class Rerank final : public RetrievalDefence {
 public:
  /// Error: InvalidOption; InvalidArgument where the model or cross-encoder is missing; Unsupported where the language
  /// model cannot score a continuation.
  [[nodiscard]] static Result<std::unique_ptr<Rerank>> create(const RerankOptions& options,
                                                              const DefenceServices& services);

  [[nodiscard]] std::string_view name() const noexcept override { return "rerank"; }
  [[nodiscard]] Parameters parameters() const override;
  [[nodiscard]] int pool_size(int top_k) const noexcept override;
  [[nodiscard]] Result<DefendedRanking> rank(const DefenceQuery& query, std::span<const PassageCandidate> candidates,
                                             int top_k, std::stop_token stop) const override;

 private:
  Rerank(const RerankOptions& options, const DefenceServices& services) : options_(options), services_(services) {}
  [[nodiscard]] Result<std::vector<double>> scores(const UntrustedText& query, std::span<const PassageCandidate> pool,
                                                   std::stop_token stop) const;
  RerankOptions options_;
  DefenceServices services_;
};

}  // namespace casemate
