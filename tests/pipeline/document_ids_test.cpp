// Which files are which documents, over several runs and folders.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "pipeline_fixture.h"

namespace casemate {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

class DocumentIdsTest : public PipelineFixture {
 protected:
  void SetUp() override {
    PipelineFixture::SetUp();
    home_ = fs::current_path();
    put("a/readme.txt", "The ferry leaves at six.");
    put("b/readme.txt", "Bread rises in a warm kitchen.");
    put("b/other.txt", "The tide waits.");
  }
  void TearDown() override { fs::current_path(home_); }

  void put(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(folder_.path(name)).parent_path());
    write(name, text);
  }
  IndexSummary index_all(const std::vector<std::string>& paths, const IndexOptions& options = {}) {
    auto summary = index_paths(paths, options, *store_, *encoder_, Progress::none(), {});
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    return summary ? *summary : IndexSummary();
  }
  std::vector<std::string> ids() const {
    std::vector<std::string> out;
    const auto documents = store_->documents("default", "", 100);
    for (const StoredDocument& document : *documents) out.push_back(document.id);
    return out;
  }
  std::string source_of(const std::string& id) const { return store_->document("default", id)->source_path; }
  std::string text_of(const std::string& id) const {
    const auto document = store_->document("default", id);
    if (!document) return document.error().message;
    const std::vector<ChunkId> chunks = {document->first_chunk};
    return store_->chunks("default", chunks).value().at(0)->text.bytes();
  }

  fs::path home_;
};

TEST_F(DocumentIdsTest, FilesOfOneNameInTwoFoldersAreTwoDocuments) {
  EXPECT_EQ(index("a")->added, 1U);
  EXPECT_EQ(index("b")->added, 2U);
  EXPECT_THAT(ids(), ElementsAre("b/readme.txt", "other.txt", "readme.txt"));
  EXPECT_EQ(text_of("readme.txt"), "The ferry leaves at six.");
  EXPECT_EQ(text_of("b/readme.txt"), "Bread rises in a warm kitchen.");
  for (const char* folder : {"b", "a", "b"}) EXPECT_EQ(index(folder)->added + index(folder)->replaced, 0U) << folder;
  put("b/readme.txt", "Bread is baked.");
  const auto changed = index("b");
  EXPECT_EQ(changed->replaced, 1U);
  EXPECT_EQ(changed->unchanged, 1U);
  EXPECT_EQ(text_of("readme.txt"), "The ferry leaves at six.");
  EXPECT_EQ(text_of("b/readme.txt"), "Bread is baked.");
}

TEST_F(DocumentIdsTest, TwoFoldersOfOneRunAreAsTwoRuns) {
  const std::vector<std::string> both = {folder_.path("a"), folder_.path("b")};
  const IndexSummary summary = index_all(both);
  EXPECT_EQ(summary.added, 3U);
  EXPECT_TRUE(summary.problems.empty());
  EXPECT_THAT(ids(), ElementsAre("b/readme.txt", "other.txt", "readme.txt"));
  EXPECT_EQ(index_all({folder_.path("b"), folder_.path("a")}).unchanged, 3U);
  // The same folder twice is no second folder.
  EXPECT_EQ(index_all({folder_.path("a"), folder_.path("a")}).problems.size(), 1U);
  EXPECT_EQ(ids().size(), 3U);
}

TEST_F(DocumentIdsTest, FilesWithTheSameContentAreStillTwo) {
  put("b/readme.txt", "The ferry leaves at six.");
  EXPECT_EQ(index("a")->added, 1U);
  EXPECT_EQ(index("b")->added, 2U);
}

TEST_F(DocumentIdsTest, HoweverAFolderIsSpelledItIsTheSame) {
  fs::create_directory_symlink(folder_.path("a"), folder_.path("link"));
  fs::current_path(folder_.root());
  ASSERT_EQ(index_all({"a"}).added, 1U);
  ASSERT_EQ(index_all({"b"}).added, 2U);
  EXPECT_EQ(source_of("readme.txt"), fs::canonical("a/readme.txt").string());
  for (const std::string& spelling :
       {std::string("./a/"), std::string("b/../a"), folder_.path("a"), std::string("link"), folder_.path("link/")}) {
    const IndexSummary again = index_all({spelling});
    EXPECT_EQ(again.unchanged, 1U) << spelling;
    EXPECT_EQ(again.added + again.replaced, 0U) << spelling;
  }
  // Another place where the same spelling means another folder.
  put("elsewhere/a/readme.txt", "The quay is wet.");
  fs::current_path(folder_.path("elsewhere"));
  EXPECT_EQ(index_all({"a"}).added, 1U);
  EXPECT_EQ(index_all({"../b"}).unchanged, 2U);
  EXPECT_THAT(ids(), ElementsAre("a/readme.txt", "b/readme.txt", "other.txt", "readme.txt"));
}

TEST_F(DocumentIdsTest, AFileKeepsItsIdWhicheverOfItsFoldersIsGiven) {
  put("b/deep/x.txt", "Deep water.");
  ASSERT_EQ(index("b/deep")->added, 1U);
  EXPECT_EQ(index("b")->added, 2U);
  EXPECT_EQ(index_all({folder_.path("b/deep/x.txt")}).unchanged, 1U);
  EXPECT_THAT(ids(), ElementsAre("other.txt", "readme.txt", "x.txt"));
}

TEST_F(DocumentIdsTest, AFolderThatWasMovedTakesItsDocumentsAlong) {
  ASSERT_EQ(index("b")->added, 2U);
  fs::rename(folder_.path("b"), folder_.path("c"));
  const auto moved = index("c");
  EXPECT_EQ(moved->unchanged, 2U);
  EXPECT_EQ(moved->chunks, 0U);
  EXPECT_EQ(source_of("readme.txt"), fs::canonical(folder_.path("c/readme.txt")).string());
  // What comes to the old place is another file, and so is the second of two that could have been it.
  put("b/readme.txt", "Something else.");
  EXPECT_EQ(index("b")->added, 1U);
  EXPECT_EQ(text_of("readme.txt"), "Bread rises in a warm kitchen.");
  EXPECT_EQ(text_of("b/readme.txt"), "Something else.");
  EXPECT_TRUE(store_->check()->ok());
}

TEST_F(DocumentIdsTest, OneMovedDocumentIsTakenOverOnce) {
  ASSERT_EQ(index("a")->added, 1U);
  fs::rename(folder_.path("a"), folder_.path("a2"));
  const IndexSummary both = index_all({folder_.path("a2"), folder_.path("b")});
  EXPECT_EQ(both.unchanged, 1U);
  EXPECT_EQ(both.added, 2U);
  EXPECT_EQ(text_of("readme.txt"), "The ferry leaves at six.");
  EXPECT_EQ(text_of("b/readme.txt"), "Bread rises in a warm kitchen.");
}

TEST_F(DocumentIdsTest, PathsAsOlderVersionsStoredThemAreUnderstood) {
  fs::current_path(folder_.root());
  ASSERT_EQ(index_all({"a"}).added, 1U);
  const auto stored_as = [this](const std::string& path) {
    const std::vector<DocumentSource> sources = {{"readme.txt", path}};
    ASSERT_TRUE(store_->set_sources("default", sources).ok());
  };
  stored_as("a/readme.txt");
  EXPECT_EQ(index_all({"a"}).unchanged, 1U);
  EXPECT_EQ(source_of("readme.txt"), fs::canonical("a/readme.txt").string());
  stored_as("./a/readme.txt");
  EXPECT_EQ(index_all({folder_.path("a")}).unchanged, 1U);
  stored_as("a/readme.txt");
  EXPECT_EQ(index_all({"b"}).added, 2U);
  // Where it came from cannot be told any more.
  stored_as("a/readme.txt");
  fs::current_path(folder_.path("b"));
  EXPECT_EQ(index_all({"../a"}).unchanged, 1U);
  EXPECT_THAT(ids(), ElementsAre("b/readme.txt", "other.txt", "readme.txt"));
}

TEST_F(DocumentIdsTest, RowsAreToldApartByTheirFilesAndRecordsWithIdsAreNot) {
  put("a/t.csv", "text\none\ntwo\n");
  put("b/t.csv", "text\nthree\n");
  put("a/own.jsonl", "{\"_id\":\"p1\",\"text\":\"old words\"}\n{\"text\":\"unnamed\"}\n");
  put("b/own.jsonl", "{\"_id\":\"p1\",\"text\":\"new words\"}\n\n{\"text\":\"also unnamed\"}\n");
  IndexOptions options;
  options.reading.generate_ids = true;
  EXPECT_EQ(index("a", options)->added, 5U);
  const auto second = index("b", options);
  EXPECT_EQ(second->replaced, 1U);
  EXPECT_EQ(text_of("p1"), "new words");
  EXPECT_THAT(ids(), ElementsAre("b/readme.txt", "b/t.csv#1", "other.txt", "own.jsonl#2", "own.jsonl#3", "p1",
                                 "readme.txt", "t.csv#1", "t.csv#2"));
}

TEST_F(DocumentIdsTest, IdsThatAreTakenByRecordsAreGoneAroundAndTakenPathsAreAProblem) {
  const std::string whole = fs::canonical(folder_.path("a/readme.txt")).string();
  std::string lines;
  std::vector<std::string> taken = {"readme.txt", "a/readme.txt"};
  for (const std::string& id : taken) lines += "{\"_id\":\"" + id + "\",\"text\":\"claimed\"}\n";
  write("claims.jsonl", lines);
  ASSERT_EQ(index("claims.jsonl")->added, 2U);
  ASSERT_EQ(index("a")->added, 1U);
  const std::string name = fs::path(folder_.root()).filename().string() + "/a/readme.txt";
  EXPECT_EQ(text_of(name), "The ferry leaves at six.");
  // Every end of the path.
  open();
  lines.clear();
  for (std::size_t at = 0; at != std::string::npos; at = whole.find('/', at + 1))
    lines += "{\"_id\":\"" + whole.substr(at + 1) + "\",\"text\":\"claimed\"}\n";
  lines += "{\"_id\":\"" + whole + "\",\"text\":\"claimed\"}\n";
  write("claims.jsonl", lines);
  ASSERT_TRUE(index("claims.jsonl").ok());
  const auto refused = index("a");
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused->refused, 1U);
  ASSERT_EQ(refused->problems.size(), 1U);
  EXPECT_THAT(refused->problems[0], ::testing::HasSubstr("is that of another document"));
}

}  // namespace
}  // namespace casemate
