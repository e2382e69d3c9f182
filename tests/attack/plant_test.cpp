#include "casemate/attack/plant.h"

#include <gtest/gtest.h>

#include "casemate/core/hash.h"
#include "casemate/pipeline/indexer.h"
#include "support/temporary_folder.h"
#include "testing/hash_encoder.h"

namespace casemate {
namespace {

class Plant : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto identity = store_identity(*encoder_, {});
    ASSERT_TRUE(identity.ok()) << identity.error().message;
    auto store = Store::create(folder_.path("store"), *identity);
    ASSERT_TRUE(store.ok()) << store.error().message;
    store_ = *std::move(store);
    // A document of the owner's that looks planted, and one that is labelled like it.
    for (const auto& [id, labels] : {std::pair<std::string, std::set<std::string>>{"casemate-attack/notes", {}},
                                     {"casemate-attack0", {"attack"}},
                                     {"mine", {"attack"}}}) {
      NewDocument document;
      document.tenant = "default";
      document.id = id;
      document.labels = labels;
      document.content_hash = blake2b(id);
      document.chunks.push_back({UntrustedText("an owner's text"), 0, 15, 0, 0});
      const std::string_view text = "an owner's text";
      const auto encoded = encoder_->encode_passages(std::span(&text, 1));
      document.embeddings = encoded->embeddings.values;
      ASSERT_TRUE(store_->add_documents(std::span(&document, 1)).ok());
    }
  }

  std::vector<std::string> ids(const std::string& tenant = "default") {
    std::vector<std::string> out;
    const auto documents = store_->documents(tenant, "", 10000);
    EXPECT_TRUE(documents.ok());
    for (const StoredDocument& each : *documents) out.push_back(each.id);
    return out;
  }

  static std::vector<CraftedDocument> documents(std::size_t count) {
    std::vector<CraftedDocument> out(count);
    for (std::size_t i = 0; i < count; ++i) {
      out[i].id = "casemate-attack/hotflip/" + std::to_string(i);
      out[i].text = UntrustedText("poison number " + std::to_string(i));
    }
    return out;
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<Encoder> encoder_ = testing::make_hash_encoder();
  std::unique_ptr<Store> store_;
};

TEST_F(Plant, WhatWasPlantedIsTakenOutAndNothingElse) {
  const auto before = ids();
  ASSERT_TRUE(plant_documents(*store_, "default", *encoder_, documents(1100), {}, Progress::none(), {}).ok());
  EXPECT_EQ(ids().size(), before.size() + 1100);
  const auto removed = remove_planted(*store_, "default");
  ASSERT_TRUE(removed.ok());
  EXPECT_EQ(*removed, 1100U);
  EXPECT_EQ(ids(), before);
  EXPECT_EQ(*remove_planted(*store_, "default"), 0U);
}

TEST_F(Plant, AnotherTenantsPoisonStays) {
  ASSERT_TRUE(plant_documents(*store_, "other", *encoder_, documents(2), {}, Progress::none(), {}).ok());
  ASSERT_TRUE(plant_documents(*store_, "default", *encoder_, documents(3), {}, Progress::none(), {}).ok());
  EXPECT_EQ(*remove_planted(*store_, "default"), 3U);
  EXPECT_EQ(ids("other").size(), 2U);
}

TEST_F(Plant, AStoppedPlantingIsTakenOutToo) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(
      plant_documents(*store_, "default", *encoder_, documents(3), {}, Progress::none(), stop.get_token()).error().code,
      ErrorCode::kCancelled);
  EXPECT_EQ(*remove_planted(*store_, "default"), 0U);
}

}  // namespace
}  // namespace casemate
