// bench/ragmask_repeated.h
#pragma once

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "casemate/core/random.h"
#include "casemate/retrieve/retriever.h"

namespace casemate::bench {

/// Undefended search over 100,000 random unit vectors, for what a repeated query costs without and with RAGMask. The
/// store lives in a folder that goes with this object.
class UndefendedSearch {
 public:
  static constexpr std::size_t kPassages = 100'000;

  UndefendedSearch(const Encoder& encoder, const ThreadPool& pool) {
    folder_ = std::filesystem::temp_directory_path() / ("casemate-bench-" + std::to_string(std::rand()));
    store_ = need(Store::create(folder_.string(), identity_of(encoder.info(), "none", "")));
    RandomStream random(1, "bench ragmask");
    constexpr std::size_t kDocuments = 100;
    for (std::size_t d = 0; d < kDocuments; ++d) {
      std::vector<NewDocument> documents(1);
      documents[0].tenant = "default";
      documents[0].id = std::to_string(d);
      for (std::size_t c = 0; c < kPassages / kDocuments; ++c) {
        documents[0].chunks.emplace_back().text = UntrustedText("x");
        std::vector<double> row(encoder.info().dimension);
        double squares = 0;
        for (double& x : row) {
          x = random.uniform() - 0.5;
          squares += x * x;
        }
        for (const double x : row) documents[0].embeddings.push_back(static_cast<float>(x / std::sqrt(squares)));
      }
      need(store_->add_documents(documents));
    }
    retriever_ = need(Retriever::create(*store_, &encoder, {}, pool));
  }
  ~UndefendedSearch() {
    retriever_.reset();
    store_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  UndefendedSearch(const UndefendedSearch&) = delete;
  UndefendedSearch& operator=(const UndefendedSearch&) = delete;

  void run(const UntrustedText& query, int top_k) const {
    need(retriever_->retrieve("default", std::span(&query, 1), top_k));
  }

 private:
  template <typename T>
  static T need(Result<T> result) {
    if (result) return *std::move(result);
    std::cerr << result.error().message << '\n';
    std::exit(3);
  }

  std::filesystem::path folder_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Retriever> retriever_;
};

}  // namespace casemate::bench
