// src/defend/vote_scan.h
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "casemate/defend/ragpart_index.h"
#include "casemate/defend/scan_defence.h"

namespace casemate {

/// A scan that votes over the vectors of one recipe, with an index for each tenant that is made anew after a commit.
/// Thread-safe.
class VoteScan {
 public:
  VoteScan(std::string_view name, std::unique_ptr<VectorRecipe> recipe, bool renormalise)
      : name_(name), recipe_(std::move(recipe)), renormalise_(renormalise) {}

  [[nodiscard]] const VectorRecipe& recipe() const noexcept { return *recipe_; }
  /// Error: as `ScanDefence::scan`.
  [[nodiscard]] Result<ScanOutcome> scan(const Store& store, const DefenceQuery& query,
                                         const RagPartSearchOptions& options, const ChunkSet* allowed,
                                         const ThreadPool& pool) const;

  /// The ranking itself; without hits where nothing is stored. Error: as above.
  [[nodiscard]] Result<RagPartRanking> ranking(const Store& store, const DefenceQuery& query,
                                               const RagPartSearchOptions& options, const ChunkSet* allowed,
                                               const ThreadPool& pool) const;

 private:
  [[nodiscard]] Result<std::shared_ptr<const RagPartIndex>> index_of(const Store& store, const std::string& tenant,
                                                                     const ThreadPool& pool) const;
  std::string name_;
  std::unique_ptr<VectorRecipe> recipe_;
  bool renormalise_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const RagPartIndex>> indexes_;
};

}  // namespace casemate
