#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "store/store_fixture.h"

namespace casemate::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

TEST(Compaction, DropsDeletedVectorsJoinsSegmentsAndKeepsTheRest) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  for (int i = 0; i < 6; ++i) {
    const std::string id = std::to_string(i);
    add(*store, {test_document("t", id, {"a" + id, "b" + id}), test_document("u", id, {"foreign " + id})});
  }
  const std::vector<std::string> ids = {"0", "3"};
  EXPECT_EQ(value_of(store->delete_documents("t", ids)), 2);
  const auto before = value_of(store->statistics());
  const CompactReport report = value_of(store->compact());
  EXPECT_EQ(report.segments_before, 12);
  EXPECT_EQ(report.segments_after, 2);
  EXPECT_EQ(report.chunks_dropped, 4);
  const auto after = value_of(store->statistics());
  EXPECT_EQ(after.tombstones, 0);
  EXPECT_EQ(after.segments, 2);
  EXPECT_LT(after.segment_bytes, before.segment_bytes);
  EXPECT_THAT(texts_with_vectors(*store, "t"), ElementsAre("a1", "b1", "a2", "b2", "a4", "b4", "a5", "b5"));
  EXPECT_EQ(texts_with_vectors(*store, "u").size(), 6U);
  EXPECT_THAT(bm25_texts(*store, "t", "a4"), ElementsAre("a4"));
  EXPECT_TRUE(value_of(store->check()).ok());
  const auto files = std::filesystem::directory_iterator(folder.path("s") + "/segments");
  EXPECT_EQ(std::distance(begin(files), end(files)), 2);
  EXPECT_EQ(value_of(store->compact()).segments_after, 2) << "nothing left to do";
}

TEST(Compaction, GivesTheBytesOfDeletedTextBack) {
  const TemporaryFolder folder;
  const std::string secret = "a-very-secret-word";
  const auto holds_secret = [&] {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path("s"))) {
      if (!entry.is_regular_file()) continue;
      const auto data = read_file(entry.path().string());
      if (data && data->find(secret) != std::string::npos) return true;
    }
    return false;
  };
  const auto store = new_store(folder.path("s"));
  add(*store, {test_document("t", "a", {secret}), test_document("t", "b", {"other"})});
  EXPECT_TRUE(holds_secret());
  const std::vector<std::string> ids = {"a"};
  EXPECT_EQ(value_of(store->delete_documents("t", ids)), 1);
  EXPECT_TRUE(store->compact().ok());
  EXPECT_FALSE(holds_secret());
}

TEST(Compaction, OfAllDocumentsLeavesAnEmptyStore) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  add(*store, {test_document("t", "a", {"one"})});
  const std::vector<std::string> ids = {"a"};
  EXPECT_EQ(value_of(store->delete_documents("t", ids)), 1);
  EXPECT_EQ(value_of(store->compact()).segments_after, 0);
  add(*store, {test_document("t", "a", {"two"})});
  EXPECT_THAT(texts_with_vectors(*store, "t"), ElementsAre("two"));
  EXPECT_THAT(bm25_texts(*store, "t", "two"), ElementsAre("two"));
}

TEST(Backup, IsAStoreOfItsOwnAndRestores) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  add(*store, {test_document("t", "a", {"one", "two"}), test_document("u", "b", {"three"})});
  ASSERT_TRUE(store->set_setting("", "k", "v").ok());
  ASSERT_TRUE(store->backup(folder.path("b")).ok());
  EXPECT_EQ(store->backup(folder.path("b")).error().code, ErrorCode::kAlreadyExists);
  add(*store, {test_document("t", "later", {"later"})});
  ASSERT_TRUE(Store::restore(folder.path("b"), folder.path("r")).ok());
  EXPECT_EQ(Store::restore(folder.path("b"), folder.path("r")).error().code, ErrorCode::kAlreadyExists);
  const auto restored = open_store(folder.path("r"));
  EXPECT_TRUE(value_of(restored->check()).ok());
  EXPECT_EQ(value_of(restored->setting("", "k")), "v");
  EXPECT_THAT(texts_with_vectors(*restored, "t"), UnorderedElementsAre("one", "two"));
  EXPECT_THAT(bm25_texts(*restored, "u", "three"), ElementsAre("three"));
  add(*restored, {test_document("t", "c", {"four"})});
  EXPECT_EQ(texts_with_vectors(*restored, "t").size(), 3U);
}

TEST(Backup, WhileAnotherProcessWritesIsOfOneCommit) {
  const TemporaryFolder folder;
  const auto writer = new_store(folder.path("s"));
  add(*writer, {test_document("t", "a", {"one"}), test_document("t", "b", {"two"})});
  const auto reader = open_store(folder.path("s"), true);
  const std::vector<std::string> ids = {"a"};
  EXPECT_EQ(value_of(writer->delete_documents("t", ids)), 1);
  EXPECT_TRUE(writer->compact().ok());
  ASSERT_TRUE(reader->backup(folder.path("b")).ok()) << "the reader's own catalog is older than the files";
  EXPECT_THAT(texts_with_vectors(*open_store(folder.path("b"), true), "t"), ElementsAre("two"));
}

void flip_byte(const std::string& path, std::int64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const char byte = static_cast<char>(file.get());
  file.seekp(at);
  file.put(static_cast<char>(byte ^ 0x10));
}

TEST(Backup, OfADamagedStoreAndRestoreOfADamagedBackupAreRefused) {
  const TemporaryFolder folder;
  {
    const auto store = new_store(folder.path("s"));
    add(*store, {test_document("t", "a", {"one"})});
    ASSERT_TRUE(store->backup(folder.path("b")).ok());
  }
  flip_byte(folder.path("b") + "/segments/000001.seg", 300);
  const Status restored = Store::restore(folder.path("b"), folder.path("r"));
  EXPECT_EQ(restored.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(restored.error().message, HasSubstr("segments/000001.seg"));
  EXPECT_FALSE(std::filesystem::exists(folder.path("r")));
  flip_byte(folder.path("s") + "/segments/000001.seg", 300);
  const Status copied = open_store(folder.path("s"), true)->backup(folder.path("c"));
  EXPECT_EQ(copied.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(copied.error().message, HasSubstr(folder.path("s") + "/segments/000001.seg"));
  EXPECT_EQ(Store::open(folder.path("c")).error().code, ErrorCode::kNotFound);
}

TEST(DamagedSegments, AreMendedByIndexingTheirDocumentsAgain) {
  const TemporaryFolder folder;
  const NewDocument document = test_document("t", "a", {"one", "two"});
  {
    const auto store = new_store(folder.path("s"));
    add(*store, {document});
    add(*store, {test_document("t", "b", {"three"})});
  }
  flip_byte(folder.path("s") + "/segments/000001.seg", 300);
  const auto store = open_store(folder.path("s"));
  ASSERT_EQ(store->open_report().damaged.size(), 1U);
  EXPECT_EQ(store->open_report().damaged[0].file, "segments/000001.seg");
  EXPECT_EQ(value_of(store->snapshot("t"))->damaged().size(), 1U) << "results without it are incomplete, and say so";
  EXPECT_THAT(texts_with_vectors(*store, "t"), ElementsAre("three"));
  EXPECT_FALSE(value_of(store->contains("t", "a", document.content_hash)));
  const auto refused = store->compact();
  EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(refused.error().message, HasSubstr("segments/000001.seg"));
  EXPECT_THAT(add(*store, {document}), ElementsAre(AddOutcome::kReplaced));
  EXPECT_TRUE(value_of(store->contains("t", "a", document.content_hash)));
  EXPECT_TRUE(store->compact().ok());
  EXPECT_THAT(texts_with_vectors(*store, "t"), UnorderedElementsAre("one", "two", "three"));
  EXPECT_TRUE(value_of(store->check()).ok());
}

}  // namespace
}  // namespace casemate::test
