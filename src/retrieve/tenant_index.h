// src/retrieve/tenant_index.h
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "casemate/retrieve/candidate_index.h"
#include "casemate/retrieve/dense_index.h"
#include "casemate/store/store.h"

namespace casemate {

/// What dense retrieval searches of one tenant, as of one commit: every passage, or those that a candidate index
/// proposes and those that are too new for it. Immutable, thread-safe.
class TenantIndex {
 public:
  /// `previous` (may be null): the same tenant's index as of an earlier commit; what did not change is taken over.
  /// Candidates that are missing or damaged are no error: every passage is looked at then, and `note` says so.
  [[nodiscard]] static Result<std::shared_ptr<const TenantIndex>> create(const Store& store, std::string_view tenant,
                                                                         std::shared_ptr<const VectorSnapshot> snapshot,
                                                                         const CandidateOptions& options,
                                                                         const ThreadPool& pool,
                                                                         const TenantIndex* previous);

  [[nodiscard]] const std::shared_ptr<const DenseIndex>& dense() const noexcept { return dense_; }
  /// How a search without a filter finds passages.
  [[nodiscard]] CandidateMethod method() const noexcept;
  /// Why that is not what was asked for; empty where it is.
  [[nodiscard]] const std::string& note() const noexcept { return note_; }
  [[nodiscard]] std::size_t unproposed() const noexcept { return unproposed_.size(); }

  /// As DenseIndex::search; passages may be missing where `method()` is not exact and `allowed` is null.
  [[nodiscard]] Result<std::vector<std::vector<DenseHit>>> search(std::span<const float> queries, std::size_t dimension,
                                                                  int top_k, const ChunkSet* allowed,
                                                                  const CandidateOptions& options,
                                                                  const ThreadPool& pool) const;

 private:
  [[nodiscard]] Status propose_by(const Store& store, std::string_view tenant, const CandidateOptions& options,
                                  const TenantIndex* previous);
  [[nodiscard]] Result<std::vector<DenseHit>> search_proposed(std::span<const float> query, int top_k,
                                                              const CandidateOptions& options,
                                                              const ThreadPool& pool) const;

  std::shared_ptr<const DenseIndex> dense_;
  std::shared_ptr<const CandidateIndex> candidates_;  ///< null: every passage is looked at
  std::string file_;                                  ///< that the candidates were read from
  ChunkSet unproposed_;                               ///< live passages that the candidates do not know
  std::optional<ChunkSet> proposable_;                ///< live passages that they know; nothing: all of them
  std::size_t live_proposed_ = 0;                     ///< how many these are
  std::string note_;
};

}  // namespace casemate
