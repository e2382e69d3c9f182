#include "casemate/pipeline/indexer.h"

#include "casemate/defend/scan_defence.h"
#include "casemate/pipeline/prepare.h"
#include "pipeline_fixture.h"

namespace casemate {
namespace {

class IndexerTest : public PipelineFixture {};

/// As slow as a language model: two passages a call, and stopped in the third one.
class SlowRecipe final : public VectorRecipe {
 public:
  explicit SlowRecipe(const Encoder& encoder) : encoder_(encoder) {}
  std::string kind() const override { return "slow"; }
  int rows_per_chunk() const noexcept override { return 1; }
  std::size_t passages_at_once() const noexcept override { return 2; }
  Result<std::vector<float>> vectors(std::span<const std::string_view> texts, std::uint64_t*,
                                     std::stop_token) const override {
    if (++calls_ == 3) return Error{ErrorCode::kCancelled, "stopped"};
    return encoder_.encode_passages(texts)->embeddings.values;
  }

 private:
  const Encoder& encoder_;
  mutable int calls_ = 0;
};

constexpr const char* kFive =
    "{\"_id\":\"1\",\"text\":\"ferry\"}\n{\"_id\":\"2\",\"text\":\"bread\"}\n{\"_id\":\"3\",\"text\":\"tide\"}\n"
    "{\"_id\":\"4\",\"text\":\"quay\"}\n{\"_id\":\"5\",\"text\":\"rope\"}\n";

TEST_F(IndexerTest, StoppingWhileAModelMakesVectorsKeepsWhatItHasMade) {
  write("corpus.jsonl", kFive);
  const SlowRecipe recipe(*encoder_);
  IndexOptions options;
  options.recipes = {&recipe};
  const auto stopped = index("corpus.jsonl", options);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  EXPECT_EQ((*store_->snapshot("default", "slow"))->live_chunks(), 4U);
  const auto again = index("corpus.jsonl", options);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->unchanged, 4U);
  EXPECT_EQ(again->added, 1U);
}

TEST_F(IndexerTest, StoppingWhileVectorsAreCompletedKeepsWhatWasMade) {
  write("corpus.jsonl", kFive);
  ASSERT_TRUE(index("corpus.jsonl").ok());
  const SlowRecipe recipe(*encoder_);
  const auto stopped = complete_vectors(*store_, "default", recipe, Progress::none(), {});
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  const auto again = complete_vectors(*store_, "default", recipe, Progress::none(), {});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->already, 4U);
  EXPECT_EQ(again->passages, 1U);
}

TEST_F(IndexerTest, ASecondRunChangesNothingAndAChangedFileIsReplaced) {
  write("a.txt", "The ferry leaves at six.");
  write("b.txt", "Bread rises in a warm kitchen.");
  for (const char* name : {"a.txt", "b.txt"}) ASSERT_EQ(index(name)->added, 1U);
  EXPECT_EQ(index("a.txt")->unchanged, 1U);
  write("a.txt", "The ferry leaves at seven.");
  const auto changed = index("a.txt");
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->replaced, 1U);
  const auto found = pipeline()->search(UntrustedText("ferry leaves"), {});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->hits[0].text.bytes(), "The ferry leaves at seven.");
  EXPECT_EQ(found->hits.size(), 2U);
}

TEST_F(IndexerTest, OtherLabelsReplaceADocument) {
  write("a.txt", "The ferry leaves at six.");
  IndexOptions labelled;
  labelled.labels = {"harbour"};
  ASSERT_TRUE(index("a.txt").ok());
  EXPECT_EQ(index("a.txt", labelled)->replaced, 1U);
  EXPECT_EQ(store_->document("default", "a.txt")->labels, labelled.labels);
}

TEST_F(IndexerTest, ADocumentThatCannotBeEmbeddedIsRefusedByNameAndTheRestIsStored) {
  testing::HashEncoderOptions options;
  options.failing_word = "xyzzy";
  open(options);
  write("corpus.jsonl",
        "{\"_id\":\"1\",\"text\":\"ferry\"}\n{\"_id\":\"2\",\"text\":\"xyzzy\"}\n{\"_id\":\"3\",\"text\":\"bread\"}\n");
  const auto summary = index("corpus.jsonl");
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->added, 2U);
  EXPECT_EQ(summary->refused, 1U);
  ASSERT_EQ(summary->problems.size(), 1U);
  EXPECT_NE(summary->problems[0].find("corpus.jsonl"), std::string::npos);
  EXPECT_NE(summary->problems[0].find(" 2 "), std::string::npos) << summary->problems[0];
  EXPECT_FALSE(store_->document("default", "2").ok());
}

TEST_F(IndexerTest, BrokenRecordsAreProblemsWithTheirLines) {
  write("corpus.jsonl",
        "{\"_id\":\"1\",\"text\":\"ferry\"}\nnot json\n{\"text\":\"no id\"}\n{\"_id\":\"1\",\"text\":\"twice\"}\n");
  const auto summary = index("corpus.jsonl");
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->added, 1U);
  ASSERT_EQ(summary->problems.size(), 3U);
  for (int line = 2; line <= 4; ++line) {
    EXPECT_NE(summary->problems[static_cast<std::size_t>(line - 2)].find("corpus.jsonl:" + std::to_string(line)),
              std::string::npos);
  }
}

TEST_F(IndexerTest, HiddenTextAddedToTheSameVisibleTextReplacesTheDocument) {
  write("a.txt", "The ferry leaves at six.");
  ASSERT_TRUE(index("a.txt").ok());
  write("a.txt", "The ferry\xE2\x80\x8B leaves at six.");
  const auto summary = index("a.txt");
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->replaced, 1U);
  EXPECT_NE(store_->document("default", "a.txt")->findings_json.find("invisible_characters"), std::string::npos);
}

TEST_F(IndexerTest, StrictStopsAtTheFirstProblem) {
  write("corpus.jsonl", "not json\n{\"_id\":\"1\",\"text\":\"ferry\"}\n");
  IndexOptions options;
  options.strict = true;
  const auto refused = index("corpus.jsonl", options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("corpus.jsonl:1"), std::string::npos) << refused.error().message;
}

TEST_F(IndexerTest, WhatWasKeptOutIsCountedAndTruncationIsReported) {
  std::string longer;
  for (int i = 0; i < 400; ++i) longer += "word ";
  write("corpus.jsonl",
        "{\"_id\":\"1\",\"text\":\"zero\xE2\x80\x8Bwidth\"}\n{\"_id\":\"2\",\"text\":\"" + longer + "\"}\n");
  const auto summary = index("corpus.jsonl");
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->findings.at("invisible_characters"), 1U);
  EXPECT_EQ(summary->truncated_chunks, 1U);
}

TEST_F(IndexerTest, AStopKeepsWhatIsFinishedAndTheNextRunGoesOn) {
  std::string lines;
  for (int i = 0; i < 50; ++i)
    lines += "{\"_id\":\"" + std::to_string(i) + "\",\"text\":\"passage " + std::to_string(i) + "\"}\n";
  write("corpus.jsonl", lines);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(index("corpus.jsonl", {}, stop.get_token()).error().code, ErrorCode::kCancelled);
  const auto rest = index("corpus.jsonl");
  ASSERT_TRUE(rest.ok());
  EXPECT_EQ(rest->added + rest->unchanged, 50U);
  EXPECT_EQ(store_->statistics()->documents, 50);
}

TEST_F(IndexerTest, OtherChunkingThanTheStoresIsRefusedWithTheField) {
  write("a.txt", "text");
  IndexOptions other;
  other.chunking.max_tokens = 100;
  const auto refused = index("a.txt", other);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kMismatch);
  EXPECT_NE(refused.error().message.find("tokens=100"), std::string::npos) << refused.error().message;
}

TEST(StoreIdentity, ChunksThatTheEncoderCannotTakeAreRefused) {
  testing::HashEncoderOptions options;
  options.max_tokens = 150;
  options.passage_prefix = "passage one two";
  const auto encoder = testing::make_hash_encoder(options);
  ChunkerOptions chunking;
  chunking.max_tokens = 146;
  EXPECT_EQ(store_identity(*encoder, chunking).error().code, ErrorCode::kInvalidOption);
  chunking.max_tokens = 145;  // 3 for the prefix and 2 for framing
  EXPECT_TRUE(store_identity(*encoder, chunking).ok());
}

}  // namespace
}  // namespace casemate
