// tests/store/store_fixture.h
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "casemate/core/random.h"
#include "casemate/store/store.h"
#include "support/temporary_folder.h"

namespace casemate::test {

inline constexpr int kDimension = 8;

inline EncoderIdentity test_encoder() {
  EncoderIdentity identity;
  identity.model = "test/model";
  identity.model_hash = "00ff";
  identity.dimension = kDimension;
  identity.pooling = "mean";
  identity.query_prefix = "query: ";
  identity.passage_prefix = "passage: ";
  identity.max_tokens = 512;
  identity.chunker = "sentences";
  identity.chunker_parameters = "tokens=200 overlap=40";
  return identity;
}

/// The embedding of a text in these tests: a pure function of its bytes, so that any copy can be checked.
inline std::vector<float> test_embedding(const std::string& text, int dimension = kDimension) {
  const Digest digest = blake2b(text);
  std::uint64_t seed = 0;
  for (int i = 0; i < 8; ++i) seed = seed * 256 + digest[static_cast<std::size_t>(i)];
  RandomStream random(seed, "test-embedding");
  std::vector<float> values(static_cast<std::size_t>(dimension));
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

inline NewDocument test_document(const std::string& tenant, const std::string& id,
                                 const std::vector<std::string>& texts) {
  NewDocument document;
  document.tenant = tenant;
  document.id = id;
  document.title = UntrustedText("Title of " + id);
  document.source_path = "folder/" + id;
  document.format = "text";
  std::uint64_t at = 0;
  std::string all;
  for (const std::string& text : texts) {
    document.chunks.push_back({UntrustedText(text), at, at + text.size(), 1, 2});
    at += text.size();
    all += text + "\n";
    const std::vector<float> row = test_embedding(text);
    document.embeddings.insert(document.embeddings.end(), row.begin(), row.end());
  }
  document.content_hash = blake2b(all);
  return document;
}

template <typename T>
T value_of(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().message;
    throw std::runtime_error(result.error().message);
  }
  return std::move(result).value();
}

inline std::unique_ptr<Store> new_store(const std::string& path, const StoreOptions& options = {}) {
  return value_of(Store::create(path, test_encoder(), options));
}
inline std::unique_ptr<Store> open_store(const std::string& path, bool read_only = false) {
  StoreOptions options;
  options.read_only = read_only;
  return value_of(Store::open(path, options));
}

inline std::vector<AddOutcome> add(Store& store, const std::vector<NewDocument>& documents) {
  std::vector<AddOutcome> outcomes;
  for (const AddResult& result : value_of(store.add_documents(documents))) outcomes.push_back(result.outcome);
  return outcomes;
}

/// Texts of all chunks that have a live vector, after checking that each vector is the one of its text.
inline std::vector<std::string> texts_with_vectors(const Store& store, const std::string& tenant) {
  const auto snapshot = value_of(store.snapshot(tenant));
  std::vector<std::string> texts;
  for (const VectorBlock& block : snapshot->blocks()) {
    for (std::size_t i = 0; i < block.chunks; ++i) {
      if (block.live[i] == 0) continue;
      const std::vector<ChunkId> id = {block.chunk_ids[i]};
      const auto chunks = value_of(store.chunks(tenant, id));
      if (!chunks[0]) continue;  // deleted or damaged text is never served
      texts.push_back(chunks[0]->text.bytes());
      const auto width = static_cast<std::size_t>(block.dimension);
      const std::vector<float> row(block.rows.begin() + static_cast<std::ptrdiff_t>(i * width),
                                   block.rows.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
      EXPECT_EQ(row, test_embedding(texts.back())) << block.file << " row " << i;
    }
  }
  return texts;
}

inline std::vector<std::string> bm25_texts(const Store& store, const std::string& tenant, const std::string& query,
                                           const ChunkSet* allowed = nullptr, int top_k = 100) {
  std::vector<ChunkId> ids;
  for (const Bm25Hit& hit : value_of(store.bm25(tenant, UntrustedText(query), top_k, allowed)))
    ids.push_back(hit.chunk);
  std::vector<std::string> texts;
  for (const auto& chunk : value_of(store.chunks(tenant, ids))) texts.push_back(chunk ? chunk->text.bytes() : "?");
  return texts;
}

}  // namespace casemate::test
