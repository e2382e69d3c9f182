// src/eval/work_store.h
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "casemate/attack/attack.h"
#include "casemate/core/progress.h"
#include "casemate/core/thread_pool.h"
#include "casemate/defend/scan_defence.h"
#include "casemate/encoder/encoder.h"
#include "casemate/eval/data_set.h"
#include "casemate/formats/document.h"
#include "casemate/store/store.h"

namespace casemate {

/// The tenant of everything that an experiment indexes.
inline constexpr char kWorkTenant[] = "default";

/// What a store indexes of a data set: its own file, or its passages written to `path`. Error: Io.
[[nodiscard]] Result<std::pair<std::string, Format>> corpus_file(const DataSet& data, const std::string& path);

/// The store that an experiment works on: the clean corpus, embedded once, and for each attack its documents on top.
class WorkStore {
 public:
  /// Opens or makes the store in `path`, and takes out what an interrupted run planted. Error: Mismatch where it was
  /// made with another encoder; what the store says.
  [[nodiscard]] static Result<WorkStore> open(const std::string& path, const Encoder& encoder);

  /// Indexes the corpus file, read as `format`, with the vectors that `recipes` make; what is there already is skipped.
  /// Error: InvalidInput where part of it could not be indexed; Cancelled.
  [[nodiscard]] Status index(const std::string& corpus, Format format, std::span<const VectorRecipe* const> recipes,
                             bool trusted, Progress& progress, std::stop_token stop);

  /// Seals the corpus, which must have been indexed as trusted, under a key that is made for it and forgotten; nothing
  /// where it is sealed already. Planted documents stay outside. Error: what sealing says; Cancelled.
  [[nodiscard]] Status seal(const ThreadPool& pool, Progress& progress, std::stop_token stop);

  /// Adds an attack's documents. Error: what encoder, recipes and store say; Cancelled.
  [[nodiscard]] Status plant(std::span<const CraftedDocument> documents, std::span<const VectorRecipe* const> recipes,
                             Progress& progress, std::stop_token stop);
  /// Takes out everything that was planted.
  [[nodiscard]] Status remove_planted();

  [[nodiscard]] Store& store() { return *store_; }

 private:
  WorkStore(std::unique_ptr<Store> store, const Encoder& encoder) : store_(std::move(store)), encoder_(&encoder) {}
  std::unique_ptr<Store> store_;
  const Encoder* encoder_;
};

}  // namespace casemate
