#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "store/store_fixture.h"

namespace casemate::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(Documents, ComeBackAsTheyWereAdded) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  const std::string hostile("text with NUL \0 and \xff broken UTF-8", 33);
  NewDocument document = test_document("t", "a", {hostile, ""});
  document.labels = {"public", "de"};
  document.trusted = true;
  document.metadata_json = R"({"author":"x"})";
  document.chunks[0].page = 7;
  EXPECT_THAT(add(*store, {document}), ElementsAre(AddOutcome::kAdded));
  for (const auto& reader : {open_store(folder.path("s"), true)}) {
    const StoredDocument found = value_of(reader->document("t", "a"));
    EXPECT_EQ(found.title, document.title);
    EXPECT_EQ(found.labels, document.labels);
    EXPECT_EQ(found.content_hash, document.content_hash);
    EXPECT_EQ(found.metadata_json, document.metadata_json);
    EXPECT_EQ(found.chunk_count, 2);
    EXPECT_TRUE(found.trusted);
    const std::vector<ChunkId> ids = {found.first_chunk, found.first_chunk + 1};
    const auto chunks = value_of(reader->chunks("t", ids));
    EXPECT_EQ(chunks[0]->text.bytes(), hostile);
    EXPECT_EQ(chunks[0]->page, 7);
    EXPECT_EQ(chunks[0]->document_id, "a");
    EXPECT_EQ(chunks[1]->text.bytes(), "");
    EXPECT_EQ(chunks[1]->ordinal, 1);
    EXPECT_EQ(chunks[1]->source_begin, hostile.size());
    EXPECT_THAT(texts_with_vectors(*reader, "t"), ElementsAre(hostile, ""));
  }
}

TEST(Documents, AddedTwiceAreUnchangedAndWithAnotherContentReplaced) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  EXPECT_THAT(add(*store, {test_document("t", "a", {"one", "two"}), test_document("t", "b", {"three"})}),
              ElementsAre(AddOutcome::kAdded, AddOutcome::kAdded));
  const auto before = value_of(store->statistics());
  EXPECT_THAT(add(*store, {test_document("t", "a", {"one", "two"})}), ElementsAre(AddOutcome::kUnchanged));
  EXPECT_EQ(value_of(store->statistics()).segments, before.segments);
  const ChunkId old = value_of(store->document("t", "a")).first_chunk;
  EXPECT_THAT(add(*store, {test_document("t", "a", {"four"})}), ElementsAre(AddOutcome::kReplaced));
  EXPECT_THAT(texts_with_vectors(*store, "t"), UnorderedElementsAre("three", "four"));
  EXPECT_THAT(bm25_texts(*store, "t", "one two"), IsEmpty());
  EXPECT_THAT(bm25_texts(*store, "t", "four"), ElementsAre("four"));
  EXPECT_EQ(value_of(store->statistics()).tombstones, 2);
  EXPECT_GT(value_of(store->document("t", "a")).first_chunk, old) << "chunk ids are never used again";
}

TEST(Documents, WithAnotherLabelAreReplaced) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  NewDocument document = test_document("t", "a", {"one"});
  add(*store, {document});
  document.labels = {"secret"};
  EXPECT_THAT(add(*store, {document}), ElementsAre(AddOutcome::kReplaced));
}

TEST(Documents, OfOneBatchWithTheSameNameReplaceEachOther) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  EXPECT_THAT(add(*store, {test_document("t", "a", {"one"}), test_document("t", "a", {"one"}),
                           test_document("t", "a", {"two"})}),
              ElementsAre(AddOutcome::kAdded, AddOutcome::kUnchanged, AddOutcome::kReplaced));
  EXPECT_THAT(texts_with_vectors(*store, "t"), ElementsAre("two"));
  EXPECT_TRUE(value_of(store->check()).ok());
}

TEST(Documents, ThatAreNotAcceptableAreRefusedByNameAndTheRestGoesOn) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  std::vector<NewDocument> batch;
  const auto faulty = [&](const std::string& id) -> NewDocument& {
    return batch.emplace_back(test_document("t", id, {"text " + id}));
  };
  faulty("nan").embeddings[3] = std::nanf("");
  faulty("inf").embeddings[0] = std::numeric_limits<float>::infinity();
  faulty("short").embeddings.pop_back();
  faulty("empty tenant").tenant = "";
  faulty("json").metadata_json = "{";
  faulty("span").chunks[0].source_begin = 99;
  faulty("label").labels = {"a\nb"};
  faulty("control").id = "x\x1b[2J";
  faulty("no id").id = "";
  faulty("kind").extra_vectors = {{"passage", 1, kDimension, std::vector<float>(kDimension)}};
  faulty("extra").extra_vectors = {{"fragment", 2, kDimension, std::vector<float>(kDimension)}};
  faulty("good");
  const auto results = value_of(store->add_documents(batch));
  for (std::size_t i = 0; i + 1 < results.size(); ++i) {
    EXPECT_EQ(results[i].outcome, AddOutcome::kRefused) << i;
    EXPECT_EQ(results[i].error->code, ErrorCode::kInvalidInput);
  }
  EXPECT_THAT(results[0].error->message,
              HasSubstr("document \"nan\": embeddings: a NaN or an infinity in row 0, column 3"));
  EXPECT_THAT(results[2].error->message, HasSubstr("7 values, expected 1 rows of dimension 8"));
  EXPECT_EQ(results[7].error->message.find('\x1b'), std::string::npos) << "the message must be safe for a terminal";
  EXPECT_EQ(results.back().outcome, AddOutcome::kAdded);
  EXPECT_THAT(texts_with_vectors(*store, "t"), ElementsAre("text good"));
}

TEST(Documents, WithoutChunksAreRememberedAndNeverFound) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  const NewDocument document = test_document("t", "empty", {});
  EXPECT_THAT(add(*store, {document}), ElementsAre(AddOutcome::kAdded));
  EXPECT_TRUE(value_of(store->contains("t", "empty", document.content_hash)));
  EXPECT_THAT(texts_with_vectors(*store, "t"), IsEmpty());
  const std::vector<std::string> ids = {"empty"};
  EXPECT_EQ(value_of(store->delete_documents("t", ids)), 1);
}

TEST(Documents, AreContainedOnlyWithTheSameContent) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  const NewDocument document = test_document("t", "a", {"one"});
  add(*store, {document});
  EXPECT_TRUE(value_of(store->contains("t", "a", document.content_hash)));
  EXPECT_FALSE(value_of(store->contains("t", "a", blake2b("other"))));
  EXPECT_FALSE(value_of(store->contains("t", "b", document.content_hash)));
  EXPECT_FALSE(value_of(store->contains("u", "a", document.content_hash)));
}

TEST(Documents, ThatAreDeletedAreGoneEverywhere) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  add(*store, {test_document("t", "a", {"apple"}), test_document("t", "b", {"banana"})});
  const ChunkId apple = value_of(store->document("t", "a")).first_chunk;
  const std::vector<std::string> ids = {"a", "never there"};
  EXPECT_EQ(value_of(store->delete_documents("t", ids)), 1);
  EXPECT_EQ(value_of(store->delete_documents("unknown tenant", ids)), 0);
  EXPECT_EQ(store->document("t", "a").error().code, ErrorCode::kNotFound);
  const std::vector<ChunkId> chunk_ids = {apple};
  EXPECT_EQ(value_of(store->chunks("t", chunk_ids))[0].error().code, ErrorCode::kNotFound);
  EXPECT_THAT(texts_with_vectors(*store, "t"), ElementsAre("banana"));
  EXPECT_THAT(bm25_texts(*store, "t", "apple banana"), ElementsAre("banana"));
  EXPECT_TRUE(value_of(store->check()).ok());
}

TEST(Documents, MayComeFromElsewhereWithoutBeingChanged) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  NewDocument document = test_document("t", "a", {"one"});
  document.labels = {"red"};
  add(*store, {document, test_document("t", "b", {"two"})});
  const StoredDocument before = value_of(store->document("t", "a"));
  const std::vector<DocumentSource> sources = {{"a", "/else/where"}, {"never there", "/x"}};
  ASSERT_TRUE(store->set_sources("t", sources).ok());
  ASSERT_TRUE(store->set_sources("unknown tenant", sources).ok());
  const StoredDocument after = value_of(store->document("t", "a"));
  EXPECT_EQ(after.source_path, "/else/where");
  EXPECT_EQ(after.labels, before.labels);
  EXPECT_EQ(after.first_chunk, before.first_chunk);
  EXPECT_EQ(value_of(store->document("t", "b")).source_path, "folder/b");
  EXPECT_TRUE(value_of(store->contains("t", "a", document.content_hash)));
  EXPECT_TRUE(value_of(store->check()).ok());
  const auto reader = open_store(folder.path("s"), true);
  EXPECT_EQ(reader->set_sources("t", sources).error().code, ErrorCode::kInvalidArgument);
}

TEST(Documents, AreListedInPages) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  add(*store, {test_document("t", "c", {"3"}), test_document("t", "a", {"1"}), test_document("t", "b", {"2"}),
               test_document("u", "x", {"4"})});
  const auto first = value_of(store->documents("t", "", 2));
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].id, "a");
  const auto rest = value_of(store->documents("t", first[1].id, 10));
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].id, "c");
  EXPECT_THAT(value_of(store->tenants()), ElementsAre("t", "u"));
}

TEST(Documents, OfOneTenantAreNeverSeenByAnother) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  add(*store, {test_document("t", "a", {"shared words of t"}), test_document("u", "a", {"shared words of u"})});
  EXPECT_THAT(texts_with_vectors(*store, "t"), ElementsAre("shared words of t"));
  EXPECT_THAT(bm25_texts(*store, "u", "shared words"), ElementsAre("shared words of u"));
  const std::vector<ChunkId> foreign = {value_of(store->document("t", "a")).first_chunk};
  EXPECT_EQ(value_of(store->chunks("u", foreign))[0].error().code, ErrorCode::kNotFound);
  EXPECT_THAT(value_of(store->select("u", {}))->ids(), ElementsAre(value_of(store->document("u", "a")).first_chunk));
  EXPECT_THAT(texts_with_vectors(*store, "neither"), IsEmpty());
}

TEST(Documents, MayCarryFurtherVectors) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  NewDocument document = test_document("t", "a", {"one", "two"});
  document.extra_vectors = {{"fragment", 3, 2, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15}}};
  add(*store, {document});
  const auto snapshot = value_of(store->snapshot("t", "fragment"));
  ASSERT_EQ(snapshot->blocks().size(), 1U);
  const VectorBlock& block = snapshot->blocks()[0];
  EXPECT_EQ(block.chunks, 2U);
  EXPECT_EQ(block.rows_per_chunk, 3);
  EXPECT_EQ(block.dimension, 2);
  EXPECT_THAT(block.rows, ElementsAre(0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.rows.data()) % 64, 0U);
}

TEST(Documents, LargeVectorsAreReadFromTheFileWhereverTheyLie) {
  const TemporaryFolder folder;
  constexpr int kRows = 4, kWidth = 512;
  std::vector<float> all;
  {
    const auto store = new_store(folder.path("s"));
    std::vector<NewDocument> documents;
    for (int i = 0; i < 200; ++i) {  // 1.6 MB
      documents.push_back(test_document("t", "d" + std::to_string(i), {"text " + std::to_string(i)}));
      const std::vector<float> rows = test_embedding(documents.back().id, kRows * kWidth);
      documents.back().extra_vectors = {{"fragment", kRows, kWidth, rows}};
      all.insert(all.end(), rows.begin(), rows.end());
    }
    add(*store, documents);
  }
  const auto store = open_store(folder.path("s"), true);
  const auto by_file = value_of(store->snapshot("t", "fragment"));
  ASSERT_EQ(by_file->blocks().size(), 1U);
  EXPECT_TRUE(by_file->blocks()[0].rows.empty());
  std::vector<float> some(3 * kRows * kWidth);
  for (const std::size_t first : {0, 77, 197}) {
    ASSERT_TRUE(by_file->read_rows(0, first, 3, some).ok());
    EXPECT_TRUE(
        std::equal(some.begin(), some.end(), all.begin() + static_cast<std::ptrdiff_t>(first * kRows * kWidth)));
  }
  EXPECT_EQ(by_file->read_rows(0, 198, 3, some).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(by_file->read_rows(1, 0, 3, some).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(by_file->read_rows(0, 0, 2, some).error().code, ErrorCode::kInvalidArgument);
  const auto in_memory = value_of(store->snapshot("t", "fragment", VectorAccess::kMemory));
  const auto rows = in_memory->blocks()[0].rows;
  EXPECT_TRUE(std::equal(rows.begin(), rows.end(), all.begin(), all.end()));
  ASSERT_TRUE(in_memory->read_rows(0, 77, 3, some).ok());
  EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + 77 * kRows * kWidth));
}

TEST(Filters, GiveExactlyTheDocumentsThatABruteForceGives) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  const std::vector<std::string> names = {"a", "b", "c"};
  std::vector<NewDocument> batch;
  for (int bits = 0; bits < 16; ++bits) {
    NewDocument document =
        test_document("t", std::to_string(bits), {"x" + std::to_string(bits), "y" + std::to_string(bits)});
    for (int i = 0; i < 3; ++i) {
      if ((bits >> i) % 2 != 0) document.labels.insert(names[static_cast<std::size_t>(i)]);
    }
    document.trusted = bits >= 8;
    batch.push_back(document);
  }
  add(*store, batch);
  const auto list = [&](int bits) {
    std::vector<std::string> labels;
    for (int i = 0; i < 3; ++i) {
      if ((bits >> i) % 2 != 0) labels.push_back(names[static_cast<std::size_t>(i)]);
    }
    return labels;
  };
  for (int any = -1; any < 8; ++any) {
    for (int all = 0; all < 8; ++all) {
      for (int none = 0; none < 8; none += 3) {
        DocumentFilter filter;
        if (any >= 0) filter.any_of = list(any);
        filter.all_of = list(all);
        filter.none_of = list(none);
        if (all == 2) filter.trusted = true;
        std::vector<ChunkId> expected;
        for (int bits = 0; bits < 16; ++bits) {
          const int labels = bits & 7;
          if (any >= 0 && (labels & any) == 0) continue;
          if ((labels & all) != all || (labels & none) != 0 || (all == 2 && bits < 8)) continue;
          const ChunkId first = value_of(store->document("t", std::to_string(bits))).first_chunk;
          expected.insert(expected.end(), {first, first + 1});
        }
        std::sort(expected.begin(), expected.end());
        EXPECT_EQ(value_of(store->select("t", filter))->ids(), expected) << any << " " << all << " " << none;
      }
    }
  }
}

TEST(Filters, LetNothingThroughForAUserWithoutRights) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  add(*store, {test_document("t", "a", {"one"})});
  DocumentFilter filter;
  filter.any_of = std::vector<std::string>{};
  EXPECT_TRUE(value_of(store->select("t", filter))->empty());
}

TEST(Filters, TakeLabelsAsValuesAndNotAsSql) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  add(*store, {test_document("t", "a", {"one"})});
  DocumentFilter filter;
  filter.any_of = std::vector<std::string>{"x') OR 1=1 --"};
  EXPECT_TRUE(value_of(store->select("t", filter))->empty());
  filter.any_of = std::vector<std::string>();
  for (int i = 0; i <= 1000; ++i) filter.any_of->push_back(std::to_string(i));
  EXPECT_EQ(store->select("t", filter).error().code, ErrorCode::kLimit);
}

TEST(Filters, MaskTheBlocksOfASnapshot) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  NewDocument secret = test_document("t", "b", {"two", "three"});
  secret.labels = {"secret"};
  add(*store, {test_document("t", "a", {"one"}), secret, test_document("t", "c", {"four"})});
  const std::vector<std::string> ids = {"c"};
  EXPECT_EQ(value_of(store->delete_documents("t", ids)), 1);
  DocumentFilter filter;
  filter.none_of = {"secret"};
  const auto snapshot = value_of(store->snapshot("t"));
  EXPECT_THAT(snapshot->mask(0, *value_of(store->select("t", filter))), ElementsAre(1, 0, 0, 0));
  filter.none_of = {};
  filter.all_of = {"secret"};
  EXPECT_THAT(snapshot->mask(0, *value_of(store->select("t", filter))), ElementsAre(0, 1, 1, 0));
}

TEST(Cache, GoesWithItsDocument) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  const NewDocument document = test_document("t", "a", {"one"});
  add(*store, {document});
  const std::vector<CacheEntry> entries = {{document.content_hash, "mask=10", std::string("\0vectors", 8)}};
  ASSERT_TRUE(store->write_cache("t", entries).ok());
  EXPECT_EQ(value_of(store->read_cache("t", document.content_hash, "mask=10")), std::string("\0vectors", 8));
  EXPECT_EQ(value_of(store->read_cache("t", document.content_hash, "mask=11")), std::nullopt);
  EXPECT_EQ(value_of(store->read_cache("u", document.content_hash, "mask=10")), std::nullopt);
  const std::vector<std::string> ids = {"a"};
  EXPECT_EQ(value_of(store->delete_documents("t", ids)), 1);
  EXPECT_EQ(value_of(store->read_cache("t", document.content_hash, "mask=10")), std::nullopt);
}

TEST(Settings, AreKeptByTenantAndForTheStore) {
  const TemporaryFolder folder;
  {
    const auto store = new_store(folder.path("s"));
    ASSERT_TRUE(store->set_setting("", "delta", "0.01").ok());
    ASSERT_TRUE(store->set_setting("t", "delta", "0.02").ok());
    ASSERT_TRUE(store->set_setting("t", "delta", "0.03").ok());
  }
  const auto store = open_store(folder.path("s"));
  EXPECT_EQ(value_of(store->setting("", "delta")), "0.01");
  EXPECT_EQ(value_of(store->setting("t", "delta")), "0.03");
  EXPECT_EQ(value_of(store->setting("u", "delta")), std::nullopt);
}

}  // namespace
}  // namespace casemate::test
