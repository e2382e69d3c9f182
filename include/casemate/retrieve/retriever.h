// casemate/retrieve/retriever.h
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/thread_pool.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/encoder/encoder.h"
#include "casemate/retrieve/candidate_index.h"
#include "casemate/retrieve/dense_index.h"
#include "casemate/store/store.h"

namespace casemate {

enum class RetrievalMode : std::uint8_t {
  kDense,   ///< inner product of embeddings, exact unless CandidateOptions say otherwise
  kBm25,    ///< words
  kHybrid,  ///< both, joined by reciprocal rank fusion
};

[[nodiscard]] std::string_view retrieval_mode_name(RetrievalMode mode) noexcept;  ///< "dense", "bm25", "hybrid"
/// Error: InvalidOption, listing the names.
[[nodiscard]] Result<RetrievalMode> parse_retrieval_mode(std::string_view name);

struct RetrieverOptions {
  RetrievalMode mode = RetrievalMode::kDense;
  int fusion_k = 60;  ///< reciprocal rank fusion: score = sum of 1 / (fusion_k + rank), ranks from 1; in [1, 10000]
  int fusion_depth = 100;         ///< ranks taken from each list before fusion (at least top_k); in [1, 100000]
  CandidateOptions candidates{};  ///< how dense retrieval finds the passages that it scores
};

/// A passage that retrieval proposes. `score` is what it is ranked by: cosine or inner product, BM25, or fusion.
struct Candidate {
  ChunkId chunk = 0;
  double score = 0;
  std::optional<float> dense_score;
  std::optional<int> dense_rank;  ///< from 1
  std::optional<double> bm25_score;
  std::optional<int> bm25_rank;  ///< from 1
};

/// What one query found, best first, equal scores by ascending chunk id.
struct Candidates {
  std::vector<Candidate> items;
  std::vector<float> query_embedding;  ///< [d], empty for BM25 alone
  /// How the dense part was found: not exact means that near passages may be missing.
  CandidateMethod method = CandidateMethod::kExact;
  std::vector<std::string> notes{};  ///< what a reader must know about that
  std::size_t searched = 0;  ///< passages that could be found: the tenant's, or those that the filter lets through
};

/// Undefended retrieval over a store. Thread-safe. Keeps one dense index a tenant and makes it anew after a commit.
class Retriever {
 public:
  /// `store`, `encoder` (may be null for BM25 alone) and `pool` must outlive it. Error: InvalidOption; Mismatch where
  /// the encoder is not the store's (lists the fields); InvalidArgument where dense retrieval has no encoder.
  [[nodiscard]] static Result<std::unique_ptr<Retriever>> create(const Store& store, const Encoder* encoder,
                                                                 const RetrieverOptions& options,
                                                                 const ThreadPool& pool);
  ~Retriever();

  /// One result a query. Filters apply before ranking. Error: InvalidArgument (top_k < 0); what encoder and store say.
  [[nodiscard]] Result<std::vector<Candidates>> retrieve(std::string_view tenant,
                                                         std::span<const UntrustedText> queries, int top_k,
                                                         const DocumentFilter& filter = {}) const;

  /// The dense index of `tenant` as of the store's last refresh; defences read embeddings from it.
  [[nodiscard]] Result<std::shared_ptr<const DenseIndex>> dense_index(std::string_view tenant) const;

 private:
  struct State;
  explicit Retriever(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Joins two rankings (chunk ids, best first) by reciprocal rank fusion (Cormack et al. 2009), best first, ties by id.
[[nodiscard]] std::vector<Candidate> fuse_by_reciprocal_rank(std::span<const DenseHit> dense,
                                                             std::span<const Bm25Hit> bm25, int fusion_k);

/// The identity that a store remembers for `encoder` with this chunker.
[[nodiscard]] EncoderIdentity identity_of(const EncoderInfo& encoder, std::string chunker,
                                          std::string chunker_parameters);

}  // namespace casemate
