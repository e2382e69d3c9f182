// tests/pipeline/pipeline_fixture.h
#pragma once

#include <gtest/gtest.h>

#include <fstream>

#include "casemate/pipeline/indexer.h"
#include "casemate/pipeline/pipeline.h"
#include "support/temporary_folder.h"
#include "testing/hash_encoder.h"
#include "testing/scripted_llm.h"

namespace casemate {

/// A store in a fresh folder, a hash encoder, and files to index.
class PipelineFixture : public ::testing::Test {
 protected:
  void SetUp() override { open(); }

  void open(testing::HashEncoderOptions options = {}) {
    encoder_ = testing::make_hash_encoder(std::move(options));
    const auto identity = store_identity(*encoder_, {});
    ASSERT_TRUE(identity.ok()) << identity.error().message;
    auto made = Store::create(folder_.path("store" + std::to_string(++stores_)), *identity);
    ASSERT_TRUE(made.ok()) << made.error().message;
    store_ = *std::move(made);
  }

  void write(const std::string& name, const std::string& text) {
    std::ofstream out(folder_.path(name), std::ios::binary);
    out << text;
  }

  Result<IndexSummary> index(const std::string& name, IndexOptions options = {}, std::stop_token stop = {}) {
    const std::string path = folder_.path(name);
    return index_paths(std::span(&path, 1), options, *store_, *encoder_, Progress::none(), std::move(stop));
  }

  PipelineParts parts(LanguageModel* model = nullptr) const {
    PipelineParts out;
    out.store = store_.get();
    out.encoder = encoder_.get();
    out.model = model;
    out.pool = &pool_;
    return out;
  }

  std::unique_ptr<Pipeline> pipeline(LanguageModel* model = nullptr) {
    auto made = Pipeline::create(parts(model), *find_policy("off"));
    EXPECT_TRUE(made.ok()) << made.error().message;
    return *std::move(made);
  }

  test::TemporaryFolder folder_;
  ThreadPool pool_{2};
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<Store> store_;
  int stores_ = 0;
};

}  // namespace casemate
