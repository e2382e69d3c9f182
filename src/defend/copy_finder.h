// src/defend/copy_finder.h
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "casemate/defend/fingerprint.h"
#include "defend/sealed_set.h"

namespace casemate {

/// What a candidate is to the sealed set.
enum class Likeness {
  kSealed,    ///< it is in the set
  kCopy,      ///< says what a sealed passage says
  kConflict,  ///< nearly that, with other content words
  kOther,     ///< no copy
};

struct Comparison {
  Likeness likeness = Likeness::kOther;
  ChunkId original = 0;  ///< for copies and conflicts
  std::string original_document;
  double jaccard = 0;  ///< with the original, or the greatest that was seen
  double contained = 0;
  std::optional<double> nearest_cosine;  ///< to the nearest sealed passage
  std::optional<double> p_value;
  std::string differences;  ///< for conflicts; not escaped
};

/// Compares passages with the sealed passages in `visible`. Immutable, thread-safe. All arguments must outlive it.
class CopyFinder {
 public:
  CopyFinder(const FingerprintOptions& options, const Store& store, const std::string& tenant, const SealedSet& set,
             const ChunkSet& visible, const ThreadPool& pool)
      : options_(options), store_(store), tenant_(tenant), set_(set), visible_(visible), pool_(pool) {}

  /// One for each, in order. Error: what the store says; InvalidArgument for an embedding that is not finite or of
  /// another dimension.
  [[nodiscard]] Result<std::vector<Comparison>> compare(std::span<const PassageCandidate> candidates) const;

 private:
  [[nodiscard]] Result<std::vector<std::vector<DenseHit>>> nearest(std::span<const PassageCandidate> candidates,
                                                                   std::vector<std::vector<float>>& rows) const;
  [[nodiscard]] Result<Comparison> compare_one(const PassageCandidate& candidate, std::span<const float> embedding,
                                               std::span<const DenseHit> hits) const;
  [[nodiscard]] std::optional<ChunkId> visible_passage(SealedTexts::Index text) const;

  const FingerprintOptions& options_;
  const Store& store_;
  const std::string& tenant_;
  const SealedSet& set_;
  const ChunkSet& visible_;
  const ThreadPool& pool_;
};

}  // namespace casemate
