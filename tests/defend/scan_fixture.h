// tests/defend/scan_fixture.h
#pragma once

#include <gtest/gtest.h>

#include "casemate/defend/defences.h"
#include "casemate/retrieve/retriever.h"
#include "support/temporary_folder.h"
#include "testing/hash_encoder.h"

namespace casemate::test {

/// A store with passages of eight words, whose first documents have the vectors that a scan defence needs.
class ScanFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    encoder_ = testing::make_hash_encoder({});
    services_.encoder = encoder_.get();
    auto made = Store::create(folder_.path("store"), identity_of(encoder_->info(), "whole", ""));
    ASSERT_TRUE(made.ok()) << made.error().message;
    store_ = *std::move(made);
  }

  void add(const std::string& id, const std::string& text, const VectorRecipe* recipe,
           std::set<std::string> labels = {}) {
    const std::string_view view = text;
    NewDocument document;
    document.tenant = "default";
    document.id = id;
    document.content_hash = blake2b(text);
    document.labels = std::move(labels);
    document.chunks.push_back({UntrustedText(text), 0, text.size(), 0, 0});
    document.embeddings = encoder_->encode_passages(std::span(&view, 1))->embeddings.values;
    if (recipe != nullptr) {
      auto rows = recipe->vectors(std::span(&view, 1), nullptr, {});
      ASSERT_TRUE(rows.ok()) << rows.error().message;
      document.extra_vectors.push_back(
          {recipe->kind(), recipe->rows_per_chunk(), static_cast<int>(document.embeddings.size()), *std::move(rows)});
    }
    const auto added = store_->add_documents(std::span(&document, 1));
    ASSERT_TRUE(added.ok() && !(*added)[0].error) << id;
  }

  [[nodiscard]] DefenceQuery query(const std::string& text) const {
    const std::string_view view = text;
    DefenceQuery out;
    out.text = UntrustedText(text);
    out.embedding = encoder_->encode_queries(std::span(&view, 1))->embeddings.values;
    return out;
  }

  std::vector<std::string> found(const ScanDefence& defence, const DefenceQuery& asked, int top_k,
                                 const ChunkSet* allowed = nullptr) {
    const auto outcome = defence.scan(*store_, asked, top_k, allowed, pool_, {});
    EXPECT_TRUE(outcome.ok()) << outcome.error().message;
    std::vector<std::string> out;
    if (!outcome.ok()) return out;
    EXPECT_EQ(outcome->verdicts.size(), outcome->candidates.items.size());
    for (const Candidate& each : outcome->candidates.items) {
      const auto chunks = store_->chunks("default", std::span(&each.chunk, 1));
      out.push_back((*chunks)[0]->document_id);
    }
    return out;
  }

  TemporaryFolder folder_;
  ThreadPool pool_{2};
  std::unique_ptr<Encoder> encoder_;
  DefenceServices services_;
  std::unique_ptr<Store> store_;
};

}  // namespace casemate::test
