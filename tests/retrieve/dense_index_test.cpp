#include "casemate/retrieve/dense_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "casemate/core/random.h"
#include "casemate/store/store.h"
#include "support/temporary_folder.h"

namespace casemate {
namespace {

constexpr int kDimension = 24;

/// A store whose documents have one chunk each; every third vector repeats the one before, so that scores tie.
class DenseIndexTest : public testing::Test {
 protected:
  void SetUp() override {
    EncoderIdentity identity;
    identity.model = "test";
    identity.dimension = kDimension;
    identity.pooling = "mean";
    identity.max_tokens = 16;
    auto made = Store::create(folder_.path("store"), identity);
    ASSERT_TRUE(made.ok()) << made.error().message;
    store_ = *std::move(made);
  }

  void add(const std::string& tenant, int count, const std::string& prefix, const std::string& label) {
    RandomStream random(5, prefix);
    std::vector<NewDocument> documents;
    std::vector<float> last;
    for (int i = 0; i < count; ++i) {
      NewDocument document;
      document.tenant = tenant;
      document.id = prefix + std::to_string(i);
      document.content_hash = blake2b(document.id);
      document.labels = {label};
      document.chunks.push_back({UntrustedText("text of " + document.id), 0, 4, 0, 0});
      document.embeddings.resize(kDimension);
      for (float& x : document.embeddings) x = static_cast<float>(random.normal());
      if (i % 3 == 2) document.embeddings = last;
      last = document.embeddings;
      documents.push_back(std::move(document));
    }
    const auto added = store_->add_documents(documents);
    ASSERT_TRUE(added.ok()) << added.error().message;
  }

  static std::vector<float> queries(std::size_t count) {
    RandomStream random(6, "queries");
    std::vector<float> values(count * kDimension);
    for (float& x : values) x = static_cast<float>(random.normal());
    return values;
  }

  /// All served rows scored one by one and sorted. Scores come from the index's own row kernel, whose arithmetic has a
  /// test of its own; here the selection is checked.
  static std::vector<DenseHit> brute_force(const VectorSnapshot& snapshot, const float* query, std::size_t top_k,
                                           const ChunkSet* allowed) {
    std::vector<DenseHit> all;
    for (const VectorBlock& block : snapshot.blocks()) {
      for (std::size_t i = 0; i < block.chunks; ++i) {
        if (block.live[i] == 0 || (allowed != nullptr && !allowed->contains(block.chunk_ids[i]))) continue;
        float partial[32] = {};
        for (std::size_t j = 0; j < kDimension; ++j)
          partial[j] = std::fma(query[j], block.rows[i * kDimension + j], partial[j]);
        for (std::size_t width = 16; width >= 1; width /= 2) {
          for (std::size_t l = 0; l < width; ++l) partial[l] += partial[l + width];
        }
        all.push_back({block.chunk_ids[i], partial[0]});
      }
    }
    std::sort(all.begin(), all.end(), [](const DenseHit& a, const DenseHit& b) {
      return a.score > b.score || (a.score == b.score && a.chunk < b.chunk);
    });
    if (all.size() > top_k) all.resize(top_k);
    return all;
  }

  std::unique_ptr<DenseIndex> index(const std::string& tenant) {
    auto snapshot = store_->snapshot(tenant);
    EXPECT_TRUE(snapshot.ok());
    auto made = DenseIndex::create(*snapshot, two_);
    EXPECT_TRUE(made.ok());
    return *std::move(made);
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<Store> store_;
  ThreadPool one_{1};
  ThreadPool two_{2};
};

TEST_F(DenseIndexTest, EqualsTheBruteForceForOneQueryAndForBatchesAndAnyThreads) {
  add("t", 5000, "a", "x");
  add("t", 700, "b", "y");
  add("t", 11, "c", "x");
  std::vector<std::string> gone;
  for (int i = 0; i < 5000; i += 7) gone.push_back("a" + std::to_string(i));
  ASSERT_TRUE(store_->delete_documents("t", gone).ok());
  const auto dense = index("t");
  const auto some = store_->select(
      "t", DocumentFilter{.any_of = std::vector<std::string>{"y"}, .all_of = {}, .none_of = {}, .trusted = {}});
  ASSERT_TRUE(some.ok());
  for (const std::size_t count : {1, 3, 8, 40, 100}) {
    const std::vector<float> q = queries(count);
    for (const int top_k : {0, 1, 5, 100, 6000}) {
      for (const ChunkSet* allowed : {static_cast<const ChunkSet*>(nullptr), some->get()}) {
        for (const ThreadPool* pool : {&one_, &two_}) {
          const auto found = dense->search(q, kDimension, top_k, allowed, *pool);
          ASSERT_TRUE(found.ok());
          ASSERT_EQ(found->size(), count);
          for (std::size_t i = 0; i < count; ++i) {
            ASSERT_EQ((*found)[i], brute_force(dense->snapshot(), q.data() + i * kDimension,
                                               static_cast<std::size_t>(top_k), allowed))
                << count << " queries, top " << top_k;
          }
        }
      }
    }
  }
}

TEST_F(DenseIndexTest, AnotherTenantsPassagesAreNotThere) {
  add("one", 20, "a", "x");
  add("two", 20, "b", "x");
  const auto dense = index("one");
  const auto found = dense->search(queries(1), kDimension, 100, nullptr, one_);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ((*found)[0].size(), 20U);
  const auto nobody = index("nobody")->search(queries(1), kDimension, 5, nullptr, one_);
  ASSERT_TRUE(nobody.ok());
  EXPECT_TRUE((*nobody)[0].empty());
}

TEST_F(DenseIndexTest, QueriesThatAreNotFiniteOrHaveAnotherDimensionAreRefused) {
  add("t", 3, "a", "x");
  const auto dense = index("t");
  std::vector<float> q = queries(2);
  q[kDimension] = std::nanf("");
  const auto found = dense->search(q, kDimension, 5, nullptr, one_);
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message.find("query 1"), std::string::npos);
  EXPECT_FALSE(dense->search(queries(1), kDimension / 2, 5, nullptr, one_).ok());
  EXPECT_FALSE(dense->search(queries(1), kDimension, -1, nullptr, one_).ok());
  EXPECT_FALSE(dense->search(queries(1), 0, 1, nullptr, one_).ok());
}

TEST_F(DenseIndexTest, GivesTheRowOfAServedChunkOnly) {
  add("t", 4, "a", "x");
  const auto before = index("t");
  const ChunkId first = before->snapshot().blocks()[0].chunk_ids[0];
  EXPECT_EQ(before->row(first)->size(), static_cast<std::size_t>(kDimension));
  EXPECT_TRUE(before->row(first + 1000)->empty());
  ASSERT_TRUE(store_->delete_documents("t", std::vector<std::string>{"a0"}).ok());
  EXPECT_TRUE(index("t")->row(first)->empty());
  EXPECT_FALSE(before->row(first)->empty());  // the old snapshot still shows what it showed
}

}  // namespace
}  // namespace casemate
