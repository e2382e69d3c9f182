// src/defend/sealed_set.h
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "casemate/defend/seal.h"
#include "casemate/retrieve/dense_index.h"
#include "defend/sealed_texts.h"

namespace casemate {

/// A tenant's seal with what of it holds in the store now. Immutable, thread-safe.
struct SealedSet {
  Seal seal;
  ShingleKey key{};
  std::vector<PassageMark> marks;  ///< by chunk
  SealedTexts texts{{}};
  ChunkSet chunks;
  SealCheck check;                          ///< what is not covered
  std::shared_ptr<const DenseIndex> index;  ///< of all the tenant's passages

  /// (1 + number of calibration values <= `cosine`) / (1 + their number); nothing without calibration.
  [[nodiscard]] std::optional<double> p_value(double cosine) const;
};

/// Keeps the sealed sets of a store's tenants up to date. Thread-safe.
class SealedSets {
 public:
  SealedSets(const Store& store, const ThreadPool& pool, std::optional<PublicKey> expected)
      : store_(store), pool_(pool), expected_(expected) {}

  /// Error: InvalidArgument where the tenant has no seal; what `read_seal` and the store say; Cancelled.
  [[nodiscard]] Result<std::shared_ptr<const SealedSet>> get(const std::string& tenant, std::stop_token stop);

 private:
  struct Entry {
    std::string statement;
    std::shared_ptr<const SealedSet> set;
  };
  [[nodiscard]] Result<std::shared_ptr<const SealedSet>> load(const std::string& tenant,
                                                              std::shared_ptr<const VectorSnapshot> snapshot,
                                                              const SealedSet* previous, std::stop_token stop) const;
  const Store& store_;
  const ThreadPool& pool_;
  std::optional<PublicKey> expected_;
  std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;
};

/// What is in both.
[[nodiscard]] ChunkSet intersection(const ChunkSet& a, const ChunkSet& b);

}  // namespace casemate
