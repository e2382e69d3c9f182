#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "store/store_fixture.h"

namespace casemate::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(Opening, AFolderWithoutAStoreIsNotFound) {
  const TemporaryFolder folder;
  EXPECT_EQ(Store::open(folder.root()).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(Store::open(folder.path("nowhere")).error().code, ErrorCode::kNotFound);
}

TEST(Creating, OverAStoreOrAmongOtherFilesIsRefused) {
  const TemporaryFolder folder;
  { const auto store = new_store(folder.path("s")); }
  EXPECT_EQ(Store::create(folder.path("s"), test_encoder()).error().code, ErrorCode::kAlreadyExists);
  std::filesystem::create_directory(folder.path("other"));
  std::ofstream(folder.path("other") + "/letter.txt") << "dear";
  const auto refused = Store::create(folder.path("other"), test_encoder());
  EXPECT_EQ(refused.error().code, ErrorCode::kAlreadyExists);
  EXPECT_THAT(refused.error().message, HasSubstr("letter.txt"));
  EXPECT_TRUE(std::filesystem::exists(folder.path("other") + "/letter.txt"));
}

TEST(Opening, WithAnotherEncoderListsTheFieldsThatDiffer) {
  const TemporaryFolder folder;
  { const auto store = new_store(folder.path("s")); }
  StoreOptions options;
  options.encoder = test_encoder();
  { EXPECT_EQ(value_of(Store::open(folder.path("s"), options))->encoder(), test_encoder()); }
  options.encoder->pooling = "cls";
  options.encoder->max_tokens = 256;
  const auto refused = Store::open(folder.path("s"), options);
  EXPECT_EQ(refused.error().code, ErrorCode::kMismatch);
  EXPECT_THAT(
      refused.error().message,
      HasSubstr(
          "pooling is \"mean\" in the store and \"cls\" here; max_tokens is \"512\" in the store and \"256\" here"));
}

TEST(Identity, HashesDifferWhereAnyFieldDiffers) {
  const EncoderIdentity base = test_encoder();
  std::set<std::string> hashes = {to_hex(identity_hash(base))};
  const auto vary = [&](auto change) {
    EncoderIdentity other = base;
    change(other);
    EXPECT_EQ(differences(base, other).size(), 1U);
    EXPECT_TRUE(hashes.insert(to_hex(identity_hash(other))).second);
    EXPECT_EQ(value_of(encoder_identity_from_json(to_json(other))), other);
  };
  vary([](EncoderIdentity& id) { id.model += "x"; });
  vary([](EncoderIdentity& id) { id.model_hash += "x"; });
  vary([](EncoderIdentity& id) { ++id.dimension; });
  vary([](EncoderIdentity& id) { id.pooling += "x"; });
  vary([](EncoderIdentity& id) { id.normalised = !id.normalised; });
  vary([](EncoderIdentity& id) { id.query_prefix += "x"; });
  vary([](EncoderIdentity& id) { id.passage_prefix += "x"; });
  vary([](EncoderIdentity& id) { ++id.max_tokens; });
  vary([](EncoderIdentity& id) { id.chunker += "x"; });
  vary([](EncoderIdentity& id) { id.chunker_parameters += "x"; });
  vary([](EncoderIdentity& id) { id.precision = "fixed16"; });
}

TEST(Identity, AStoreMadeBeforePrecisionWasAChoiceIsFloat32AndKeepsItsHash) {
  const EncoderIdentity usual = test_encoder();
  EXPECT_EQ(usual.precision, "float32");
  const std::string json = to_json(usual);
  EXPECT_EQ(json, R"({"model":"test/model","model_hash":"00ff","dimension":)" + std::to_string(kDimension) +
                      R"(,"pooling":"mean","normalised":true,"query_prefix":"query: ","passage_prefix":"passage: ",)"
                      R"("max_tokens":512,"chunker":"sentences","chunker_parameters":"tokens=200 overlap=40"})");
  EXPECT_EQ(value_of(encoder_identity_from_json(json)), usual);
  EXPECT_EQ(to_hex(identity_hash(usual)), to_hex(blake2b(json)));
  const auto with = [&](const std::string& precision) {
    return encoder_identity_from_json(json.substr(0, json.size() - 1) + ",\"precision\":" + precision + "}");
  };
  EXPECT_EQ(value_of(with("\"fixed16\"")).precision, "fixed16");
  const auto wrong = with("16");
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, HasSubstr("\"precision\""));
}

void set_format(const std::string& path, int version) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((path + "/vault.db").c_str(), &database), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(database, ("PRAGMA user_version=" + std::to_string(version)).c_str(), nullptr, nullptr, nullptr),
      SQLITE_OK);
  sqlite3_close(database);
}

TEST(Opening, ANewerFormatIsRefused) {
  const TemporaryFolder folder;
  { const auto store = new_store(folder.path("s")); }
  EXPECT_FALSE(value_of(Store::migrate(folder.path("s"), folder.path("b"))));
  EXPECT_FALSE(std::filesystem::exists(folder.path("b"))) << "nothing to migrate, nothing to back up";
  set_format(folder.path("s"), 2);
  EXPECT_EQ(Store::open(folder.path("s")).error().code, ErrorCode::kMismatch);
  EXPECT_THAT(Store::open(folder.path("s")).error().message, HasSubstr("newer"));
  EXPECT_EQ(Store::migrate(folder.path("s"), folder.path("b")).error().code, ErrorCode::kMismatch);
}

TEST(Writers, AreOneAtATimeAndReadersAreNotBlocked) {
  const TemporaryFolder folder;
  const auto writer = new_store(folder.path("s"));
  add(*writer, {test_document("t", "a", {"one"})});
  const auto second = Store::open(folder.path("s"));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr("vault.lock"));
  const auto reader = open_store(folder.path("s"), true);
  EXPECT_THAT(texts_with_vectors(*reader, "t"), ElementsAre("one"));
  EXPECT_EQ(reader->add_documents({}).error().code, ErrorCode::kInvalidArgument);
}

TEST(Readers, SeeNewCommitsAfterRefreshAndOldSnapshotsStayWhole) {
  const TemporaryFolder folder;
  const auto writer = new_store(folder.path("s"));
  add(*writer, {test_document("t", "a", {"one"}), test_document("t", "b", {"two"})});
  const auto reader = open_store(folder.path("s"), true);
  const auto old = value_of(reader->snapshot("t"));
  const std::vector<std::string> ids = {"a"};
  EXPECT_EQ(value_of(writer->delete_documents("t", ids)), 1);
  EXPECT_EQ(value_of(writer->compact()).chunks_dropped, 1);
  EXPECT_EQ(value_of(reader->snapshot("t"))->live_chunks(), 2U) << "as of the last refresh";
  EXPECT_TRUE(value_of(reader->refresh()));
  EXPECT_FALSE(value_of(reader->refresh()));
  EXPECT_EQ(value_of(reader->snapshot("t"))->live_chunks(), 1U);
  EXPECT_EQ(old->live_chunks(), 2U);
  const auto row = test_embedding("one");
  EXPECT_TRUE(std::equal(row.begin(), row.end(), old->blocks()[0].rows.begin()));
}

TEST(Readers, FindSegmentsThatWereCompactedAfterTheirLastRefresh) {
  const TemporaryFolder folder;
  const auto writer = new_store(folder.path("s"));
  for (const char* id : {"a", "b", "c"}) add(*writer, {test_document("t", id, {id})});
  StoreOptions options;
  options.read_only = true;
  options.load_vectors = false;
  const auto reader = value_of(Store::open(folder.path("s"), options));
  EXPECT_EQ(value_of(writer->compact()).segments_after, 1);
  EXPECT_THAT(texts_with_vectors(*reader, "t"), UnorderedElementsAre("a", "b", "c"));
}

TEST(Readers, RunBesideAWriterOnManyThreads) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  add(*store, {test_document("t", "base", {"stone wall"})});
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        const auto snapshot = value_of(store->snapshot("t"));
        for (const VectorBlock& block : snapshot->blocks()) ASSERT_EQ(block.rows.size(), block.chunks * kDimension);
        ASSERT_FALSE(value_of(store->bm25("t", UntrustedText("wall"), 5)).empty());
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    add(*store, {test_document("t", std::to_string(i % 4), {"wall " + std::to_string(i)})});
    if (i % 7 == 6) {
      EXPECT_TRUE(store->compact().ok());
    }
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(value_of(store->check()).ok());
}

TEST(Readers, OpenAStoreInAFolderThatTheyMayNotWrite) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else for a moment";
  const TemporaryFolder folder;
  {
    const auto store = new_store(folder.path("s"));
    add(*store, {test_document("t", "a", {"one"})});
  }
  ::chmod(folder.root().c_str(), 0755);
  ASSERT_EQ(::seteuid(65534), 0);
  StoreOptions options;
  options.read_only = true;
  const auto reader = Store::open(folder.path("s"), options);
  const auto writer = Store::open(folder.path("s"));
  const auto created = Store::create(folder.path("new"), test_encoder());
  const auto texts = reader ? texts_with_vectors(**reader, "t") : std::vector<std::string>();
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_THAT(texts, ElementsAre("one"));
  EXPECT_EQ(writer.error().code, ErrorCode::kPermission);
  EXPECT_THAT(writer.error().message, HasSubstr(folder.path("s")));
  EXPECT_EQ(created.error().code, ErrorCode::kPermission);
}

TEST(Opening, ReportsLeftoversAndTheWriterRemovesThem) {
  const TemporaryFolder folder;
  {
    const auto store = new_store(folder.path("s"));
    add(*store, {test_document("t", "a", {"one"})});
  }
  for (const char* name : {"000009.seg", "000010.seg.tmp", "notes.txt"})
    std::ofstream(folder.path("s") + "/segments/" + name) << "x";
  const std::vector<std::string> expected = {"segments/000009.seg", "segments/000010.seg.tmp"};
  {
    const auto reader = open_store(folder.path("s"), true);
    EXPECT_EQ(reader->open_report().leftovers, expected);
    EXPECT_FALSE(reader->open_report().leftovers_removed);
  }
  const auto writer = open_store(folder.path("s"));
  EXPECT_EQ(writer->open_report().leftovers, expected);
  EXPECT_TRUE(writer->open_report().leftovers_removed);
  EXPECT_THAT(writer->open_report().unknown_files, ElementsAre("segments/notes.txt"));
  EXPECT_FALSE(std::filesystem::exists(folder.path("s") + "/segments/000009.seg"));
  EXPECT_TRUE(std::filesystem::exists(folder.path("s") + "/segments/notes.txt"));
  EXPECT_THAT(writer->open_report().damaged, IsEmpty());
  EXPECT_THAT(texts_with_vectors(*writer, "t"), ElementsAre("one"));
}

TEST(Options, OutOfRangeAreRefused) {
  const TemporaryFolder folder;
  EncoderIdentity encoder = test_encoder();
  encoder.dimension = 0;
  EXPECT_EQ(Store::create(folder.path("s"), encoder).error().code, ErrorCode::kInvalidOption);
  encoder = test_encoder();
  encoder.model = "\xff";
  EXPECT_EQ(Store::create(folder.path("s"), encoder).error().code, ErrorCode::kInvalidOption);
  StoreOptions options;
  options.busy_timeout_ms = -1;
  EXPECT_EQ(Store::create(folder.path("t"), test_encoder(), options).error().code, ErrorCode::kInvalidOption);
}

}  // namespace
}  // namespace casemate::test
