#include "casemate/defend/passage_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/temporary_folder.h"

namespace casemate {
namespace {

Digest hash_of(const std::string& text) { return blake2b(text); }

CacheEntry entry(const std::string& content, const std::string& key, std::string value) {
  return {hash_of(content), key, std::move(value)};
}

void expect_keeps_apart(PassageCache& cache, const std::string& tenant, const std::string& other) {
  const CacheEntry entries[] = {entry("a", "k", std::string("\0x\xff", 3)), entry("b", "k", "second")};
  cache.put(tenant, entries);
  EXPECT_EQ(cache.get(tenant, hash_of("a"), "k"), std::string("\0x\xff", 3));
  EXPECT_EQ(cache.get(tenant, hash_of("b"), "k"), "second");
  EXPECT_FALSE(cache.get(other, hash_of("a"), "k").has_value());
  EXPECT_FALSE(cache.get(tenant, hash_of("c"), "k").has_value());
  EXPECT_FALSE(cache.get(tenant, hash_of("a"), "kk").has_value());
  const CacheEntry newer[] = {entry("a", "k", "newer")};
  cache.put(tenant, newer);
  EXPECT_EQ(cache.get(tenant, hash_of("a"), "k"), "newer");
}

TEST(MemoryPassageCache, KeepsTenantsContentsAndKeysApart) {
  const auto cache = make_memory_passage_cache();
  ASSERT_TRUE(cache.ok());
  expect_keeps_apart(**cache, "default", "other");
  EXPECT_EQ((*cache)->counts().hits, 3U);
  EXPECT_EQ((*cache)->counts().misses, 3U);
}

TEST(MemoryPassageCache, DropsWhatWasNotUsedForLongestAndStaysWithinItsBound) {
  // A name takes 2 + 1 + 32 + 1 bytes, so that three values of 64 bytes fit into 300.
  const auto cache = make_memory_passage_cache(300);
  ASSERT_TRUE(cache.ok());
  const auto put = [&](const char* content) {
    const CacheEntry entries[] = {entry(content, "k", std::string(64, 'v'))};
    (*cache)->put("t", entries);
  };
  const auto has = [&](const char* content) { return (*cache)->get("t", hash_of(content), "k").has_value(); };
  put("a");
  put("b");
  put("c");
  EXPECT_TRUE(has("a"));  // used: now b is the oldest
  put("d");
  EXPECT_TRUE(has("a"));
  EXPECT_FALSE(has("b"));
  EXPECT_TRUE(has("c"));
  EXPECT_TRUE(has("d"));
  const CacheEntry huge[] = {entry("e", "k", std::string(400, 'v'))};
  (*cache)->put("t", huge);
  EXPECT_FALSE(has("e"));
  EXPECT_TRUE(has("d"));
  EXPECT_EQ((*cache)->counts().failures, 1U);
  EXPECT_FALSE(make_memory_passage_cache(0).ok());
}

TEST(MemoryPassageCache, ManyThreadsMayUseItAtOnce) {
  const auto cache = make_memory_passage_cache(4096);
  ASSERT_TRUE(cache.ok());
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const std::string content = std::to_string(i % 50);
        const CacheEntry entries[] = {entry(content, "k", content + "!")};
        (*cache)->put("t", entries);
        const auto found = (*cache)->get("t", hash_of(content), "k");
        if (found && *found != content + "!") ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

class StorePassageCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    EncoderIdentity identity;
    identity.model = "m";
    identity.model_hash = "h";
    identity.dimension = 2;
    identity.max_tokens = 8;
    auto made = Store::create(path_, identity);
    ASSERT_TRUE(made.ok()) << made.error().message;
    store_ = *std::move(made);
    std::vector<NewDocument> documents(1);
    documents[0].tenant = "default";
    documents[0].id = "d";
    documents[0].content_hash = hash_of("a");
    ASSERT_TRUE(store_->add_documents(documents).ok());
  }
  test::TemporaryFolder folder_;
  std::string path_ = folder_.root() + "/store";
  std::unique_ptr<Store> store_;
};

TEST_F(StorePassageCacheTest, KeepsValuesAcrossOpeningAndDropsThemWithTheDocument) {
  expect_keeps_apart(*make_store_passage_cache(*store_), "default", "other");
  store_.reset();
  auto again = Store::open(path_);
  ASSERT_TRUE(again.ok());
  const auto cache = make_store_passage_cache(**again);
  EXPECT_EQ(cache->get("default", hash_of("a"), "k"), "newer");
  const std::string ids[] = {"d"};
  ASSERT_TRUE((*again)->delete_documents("default", ids).ok());
  EXPECT_FALSE(cache->get("default", hash_of("a"), "k").has_value());
}

TEST_F(StorePassageCacheTest, AStoreOpenForReadingServesWhatItHasAndKeepsNothing) {
  const CacheEntry entries[] = {entry("a", "k", "v")};
  make_store_passage_cache(*store_)->put("default", entries);
  StoreOptions options;
  options.read_only = true;
  auto reader = Store::open(path_, options);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  const auto cache = make_store_passage_cache(**reader);
  EXPECT_EQ(cache->get("default", hash_of("a"), "k"), "v");
  const CacheEntry more[] = {entry("a", "k2", "v")};
  cache->put("default", more);
  EXPECT_FALSE(cache->get("default", hash_of("a"), "k2").has_value());
  EXPECT_EQ(cache->counts().failures, 1U);
}

}  // namespace
}  // namespace casemate
