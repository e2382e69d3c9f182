// casemate/defend/scan_defence.h
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/thread_pool.h"
#include "casemate/defend/retrieval_defence.h"
#include "casemate/retrieve/retriever.h"
#include "casemate/store/store.h"

namespace casemate {

/// Vectors that a defence needs beside the passage's own, made when documents are indexed.
///
/// Immutable, thread-safe. `kind` names everything that the vectors depend on besides the store's encoder.
class VectorRecipe {
 public:
  virtual ~VectorRecipe() = default;
  [[nodiscard]] virtual std::string kind() const = 0;  ///< "fragments-n5-word"
  [[nodiscard]] virtual int rows_per_chunk() const noexcept = 0;
  /// As many passages are worth a call: a kill loses them, and progress is told after each call.
  [[nodiscard]] virtual std::size_t passages_at_once() const noexcept { return 256; }
  /// [texts * rows_per_chunk, d]. `repeated` (may be null) grows by the passages too short for distinct fragments.
  /// Error: what the encoder or model says; Cancelled.
  [[nodiscard]] virtual Result<std::vector<float>> vectors(std::span<const std::string_view> texts,
                                                           std::uint64_t* repeated, std::stop_token stop) const = 0;
};

/// What a defended scan found.
struct ScanOutcome {
  Candidates candidates;          ///< best first, at most top_k
  std::vector<Verdict> verdicts;  ///< one for each candidate, without its document
  std::vector<std::string> notes;
};

/// A defence that takes the place of the scan: it decides over the whole corpus which passages are proposed.
/// Thread-safe.
class ScanDefence {
 public:
  virtual ~ScanDefence() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual Parameters parameters() const = 0;
  /// The vectors that it scans.
  [[nodiscard]] virtual const VectorRecipe& recipe() const noexcept = 0;

  /// The best `top_k` chunks of the tenant in `store`; only those in `allowed` (null: all) count, before ranking.
  /// Error: InvalidInput where passages have no vectors of the recipe's kind (with the command that makes them);
  /// InvalidArgument for a query that is not finite or of another dimension.
  [[nodiscard]] virtual Result<ScanOutcome> scan(const Store& store, const DefenceQuery& query, int top_k,
                                                 const ChunkSet* allowed, const ThreadPool& pool,
                                                 std::stop_token stop) const = 0;
};

}  // namespace casemate
