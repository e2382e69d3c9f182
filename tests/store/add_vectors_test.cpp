#include <algorithm>
#include <limits>
#include <map>

#include "store_fixture.h"

namespace casemate::test {
namespace {

constexpr int kRows = 2;

/// Rows of a chunk in these tests: its id and its negative.
ExtraVectors vectors_for(const std::vector<ChunkId>& ids, const std::string& kind = "fragments-n2-word") {
  ExtraVectors out;
  out.kind = kind;
  out.rows_per_chunk = kRows;
  out.dimension = 1;
  for (const ChunkId id : ids) {
    out.rows.push_back(static_cast<float>(id));
    out.rows.push_back(-static_cast<float>(id));
  }
  return out;
}

/// Live chunks with their first row, after checking that the second is its negative.
std::map<ChunkId, float> rows_of(const Store& store, const std::string& kind = "fragments-n2-word") {
  std::map<ChunkId, float> out;
  const auto snapshot = value_of(store.snapshot("t", kind));
  for (std::size_t b = 0; b < snapshot->blocks().size(); ++b) {
    const VectorBlock& block = snapshot->blocks()[b];
    for (std::size_t i = 0; i < block.chunks; ++i) {
      std::vector<float> rows(kRows);
      EXPECT_TRUE(snapshot->read_rows(b, i, 1, rows).ok());
      EXPECT_EQ(rows[1], -rows[0]);
      if (block.live[i] == 0) continue;
      EXPECT_TRUE(out.emplace(block.chunk_ids[i], rows[0]).second);
    }
  }
  return out;
}

class AddVectors : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = new_store(folder_.path("s"));
    for (const char* id : {"a", "b", "c", "d", "e"})
      add(*store_, {test_document("t", id, {std::string(id) + "1", std::string(id) + "2"})});
    const auto snapshot = value_of(store_->snapshot("t"));
    for (const VectorBlock& block : snapshot->blocks())
      ids_.insert(ids_.end(), block.chunk_ids.begin(), block.chunk_ids.end());
    ASSERT_EQ(ids_.size(), 10U);
  }
  Status give(const std::vector<ChunkId>& ids, const std::string& kind = "fragments-n2-word") {
    return store_->add_vectors("t", ids, vectors_for(ids, kind));
  }

  TemporaryFolder folder_;
  std::unique_ptr<Store> store_;
  std::vector<ChunkId> ids_;
};

TEST_F(AddVectors, KindsAreListedByTenantWithoutThePassagesOwn) {
  EXPECT_EQ(value_of(store_->vector_kinds("t")), std::vector<std::string>());
  ASSERT_TRUE(give(ids_, "paraphrase-b").ok());
  ASSERT_TRUE(give(ids_, "paraphrase-a").ok());
  EXPECT_EQ(value_of(store_->vector_kinds("t")), (std::vector<std::string>{"paraphrase-a", "paraphrase-b"}));
  EXPECT_EQ(value_of(store_->vector_kinds("other")), std::vector<std::string>());
}

TEST_F(AddVectors, ServesThemAtOnceAndAfterReopening) {
  ASSERT_TRUE(give(ids_).ok());
  EXPECT_EQ(rows_of(*store_).size(), 10U);
  store_.reset();
  store_ = open_store(folder_.path("s"));
  const auto rows = rows_of(*store_);
  ASSERT_EQ(rows.size(), 10U);
  for (const auto& [id, row] : rows) EXPECT_EQ(row, static_cast<float>(id));
  EXPECT_TRUE(value_of(store_->check()).ok());
}

TEST_F(AddVectors, InterleavedAdditionsSurviveCompactionInOrder) {
  ASSERT_TRUE(give({ids_[2], ids_[3], ids_[8]}).ok());
  ASSERT_TRUE(give({ids_[0], ids_[5], ids_[9]}).ok());
  ASSERT_TRUE(give({ids_[1], ids_[4], ids_[6], ids_[7]}).ok());
  const std::vector<std::string> gone = {"b"};
  ASSERT_EQ(value_of(store_->delete_documents("t", gone)), 1);
  EXPECT_EQ(rows_of(*store_).size(), 8U);
  value_of(store_->compact());
  const auto rows = rows_of(*store_);
  EXPECT_EQ(rows.size(), 8U);
  for (const auto& [id, row] : rows) EXPECT_EQ(row, static_cast<float>(id));
  EXPECT_TRUE(value_of(store_->check()).ok());
  const auto snapshot = value_of(store_->snapshot("t", "fragments-n2-word"));
  for (const VectorBlock& block : snapshot->blocks())
    EXPECT_TRUE(std::is_sorted(block.chunk_ids.begin(), block.chunk_ids.end()));
}

TEST_F(AddVectors, RefusesWhatDoesNotFit) {
  ASSERT_TRUE(give({ids_[0]}).ok());
  EXPECT_EQ(give({ids_[0]}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(give({ids_[9] + 100}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(give({ids_[2], ids_[1]}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(give({ids_[1]}, "passage").error().code, ErrorCode::kInvalidArgument);
  ExtraVectors other = vectors_for({ids_[1]});
  other.rows_per_chunk = 1;
  other.dimension = 2;
  const std::vector<ChunkId> one = {ids_[1]};
  EXPECT_EQ(store_->add_vectors("t", one, other).error().code, ErrorCode::kMismatch);
  EXPECT_EQ(store_->add_vectors("nobody", one, vectors_for(one)).error().code, ErrorCode::kNotFound);
  ExtraVectors nan = vectors_for(one);
  nan.rows[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(store_->add_vectors("t", one, nan).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(rows_of(*store_).size(), 1U);  // nothing of all that was kept
  EXPECT_TRUE(give({}).ok());
}

TEST_F(AddVectors, AReplacedDocumentLosesItsAddedVectors) {
  ASSERT_TRUE(give(ids_).ok());
  add(*store_, {test_document("t", "a", {"other text"})});
  EXPECT_EQ(rows_of(*store_).size(), 8U);
}

}  // namespace
}  // namespace casemate::test
