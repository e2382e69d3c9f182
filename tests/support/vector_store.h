// tests/support/vector_store.h
#pragma once

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "casemate/store/store.h"
#include "support/temporary_folder.h"

namespace casemate::test {

/// A store that holds given vectors: document i is one chunk with rows [i * rows_per_chunk, ...) of the values. Chunk
/// ids ascend with i. Throws where the store refuses.
class VectorStore {
 public:
  VectorStore(int dimension, int rows_per_chunk) : dimension_(dimension), rows_per_chunk_(rows_per_chunk) {
    EncoderIdentity identity;
    identity.model = "test";
    identity.dimension = dimension;
    identity.pooling = "mean";
    identity.max_tokens = 16;
    auto made = Store::create(folder_.path("store"), identity);
    if (!made) throw std::runtime_error(made.error().message);
    store_ = *std::move(made);
  }

  /// One commit, hence one segment. `label` and `tenant` are every document's.
  void add(std::span<const float> values, const std::string& label = "x", const std::string& tenant = "t") {
    const auto width = static_cast<std::size_t>(dimension_) * static_cast<std::size_t>(rows_per_chunk_);
    std::vector<NewDocument> documents;
    for (std::size_t at = 0; at < values.size(); at += width) {
      NewDocument document;
      document.tenant = tenant;
      document.id = std::to_string(count_++);
      document.content_hash = blake2b(document.id);
      document.labels = {label};
      document.chunks.push_back({UntrustedText("text"), 0, 4, 0, 0});
      const auto rows = values.subspan(at, width);
      if (rows_per_chunk_ == 1) {
        document.embeddings.assign(rows.begin(), rows.end());
      } else {
        document.embeddings.assign(static_cast<std::size_t>(dimension_), 0.0F);
        document.extra_vectors.push_back({kind(), rows_per_chunk_, dimension_, {rows.begin(), rows.end()}});
      }
      documents.push_back(std::move(document));
    }
    const auto added = store_->add_documents(documents);
    if (!added) throw std::runtime_error(added.error().message);
    for (const AddResult& one : *added) {
      if (one.error) throw std::runtime_error(one.error->message);
    }
  }

  void remove(std::size_t document) {
    const auto removed = store_->delete_documents("t", std::vector<std::string>{std::to_string(document)});
    if (!removed || *removed != 1) throw std::runtime_error("not removed");
  }

  [[nodiscard]] std::string kind() const { return rows_per_chunk_ == 1 ? kPassageVectors : "rows"; }
  [[nodiscard]] std::shared_ptr<const VectorSnapshot> snapshot(VectorAccess access = VectorAccess::kFile) const {
    auto found = store_->snapshot("t", kind(), access);
    if (!found) throw std::runtime_error(found.error().message);
    return *std::move(found);
  }
  [[nodiscard]] Store& store() { return *store_; }
  [[nodiscard]] std::string path() const { return folder_.path("store"); }

 private:
  TemporaryFolder folder_;
  std::unique_ptr<Store> store_;
  int dimension_;
  int rows_per_chunk_;
  int count_ = 0;
};

}  // namespace casemate::test
