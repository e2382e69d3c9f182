// An experiment with an attack that optimises: what it crafts is shared, kept, and part of the summary.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "casemate/encoder/bert_encoder.h"
#include "casemate/eval/run_experiment.h"
#include "support/temporary_folder.h"
#include "support/tiny_checkpoint.h"
#include "testing/hash_encoder.h"

namespace casemate {
namespace {

using Json = nlohmann::json;

constexpr char kExperiment[] = R"(
name: gradients
data: {path: squad.json}
questions: 2
top_k: 3
metrics: [asr@3]
attacks:
  - none
  - {name: hotflip, tokens: 4, candidates: 4, batch: 2, documents_per_query: 2, iterations: [1, 5]}
defences: [none, 'ragpart{fragments: 2, combination: 1}']
)";

std::string small_squad() {
  const char* const texts[] = {"the ferry waits for the tide .", "a tide waits for a ferry . the tide waits ?",
                               "for the ferry the tide waits . a ferry .", "the the tide . a a ferry ? for for .",
                               "tide ferry tide ferry tide ferry waits for the tide ."};
  Json paragraphs = Json::array();
  for (const char* text : texts) {
    const std::string id = std::to_string(paragraphs.size());
    paragraphs.push_back(
        {{"context", text},
         {"qas",
          {{{"id", id}, {"question", "the ferry waits ?"}, {"answers", {{{"text", "tide"}, {"answer_start", 0}}}}}}}});
  }
  return Json{{"version", "1.1"}, {"data", {{{"title", "Ferries"}, {"paragraphs", paragraphs}}}}}.dump();
}

class GradientAttackExperiment : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_.path("squad.json")) << small_squad();
    std::filesystem::create_directories(folder_.path("model"));
    test::write_tiny_checkpoint(folder_.path("model"), Architecture::kBert, Head::kNone, false);
    auto loaded = load_bert_encoder(folder_.path("model"), {}, pool_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    encoder_ = *std::move(loaded);
  }

  Result<EvalRun> run(const Encoder& encoder, const std::string& out) {
    auto experiment = parse_experiment(kExperiment, "gradients.yaml");
    EXPECT_TRUE(experiment.ok()) << experiment.error().message;
    experiment->data.path = folder_.path("squad.json");
    EvalParts parts;
    parts.encoder = &encoder;
    parts.pool = &pool_;
    EvalOptions options;
    options.out = folder_.path(out);
    return run_experiment(*experiment, parts, options, Progress::none(), {});
  }

  std::string text_of(const std::string& name) {
    std::stringstream text;
    text << std::ifstream(folder_.path(name)).rdbuf();
    return text.str();
  }

  test::TemporaryFolder folder_;
  ThreadPool pool_{2};
  std::unique_ptr<Encoder> encoder_;
};

TEST_F(GradientAttackExperiment, LongerAttacksReachMoreAndTheSummaryHasTheTable) {
  const auto done = run(*encoder_, "out");
  ASSERT_TRUE(done.ok()) << done.error().message;
  const auto& conditions = done->summary.conditions;
  ASSERT_EQ(conditions.size(), 6U);
  EXPECT_FALSE(conditions[0].similarity);
  ASSERT_TRUE(conditions[2].similarity && conditions[4].similarity);
  EXPECT_EQ(conditions[2].planted, 4U);
  EXPECT_GE(*conditions[4].similarity, *conditions[2].similarity);
  EXPECT_NE(text_of("out/summary.md").find("| defence | 1 | 5 |"), std::string::npos);
}

TEST_F(GradientAttackExperiment, AFinishedRunCraftsNothingAgainAndALostCacheChangesNoByte) {
  ASSERT_TRUE(run(*encoder_, "out").ok());
  const std::string summary = text_of("out/summary.json");
  const std::string kept = text_of("out/work/crafted.jsonl");
  EXPECT_FALSE(kept.empty());
  std::filesystem::remove_all(folder_.path("out/work"));
  const auto again = run(*encoder_, "out");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->asked, 0U);
  EXPECT_EQ(text_of("out/summary.json"), summary);
  EXPECT_TRUE(text_of("out/work/crafted.jsonl").empty());
  // A log that lost its end is completed with the same documents, crafted anew.
  const std::string attack =
      text_of("out/attacks/2-0-hotflip-tokens-4-candidates-4-batch-2-documents_per_query-2-iterations-5.jsonl");
  EXPECT_FALSE(attack.empty());
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path("out/queries")))
    if (entry.path().filename().string().starts_with("2-0")) std::filesystem::remove(entry.path());
  const auto completed = run(*encoder_, "out");
  ASSERT_TRUE(completed.ok()) << completed.error().message;
  EXPECT_EQ(completed->asked, 2U);
  EXPECT_EQ(text_of("out/summary.json"), summary);
}

TEST_F(GradientAttackExperiment, AnEncoderWithoutGradientsIsRefusedWithTheReason) {
  const auto encoder = testing::make_hash_encoder();
  const auto done = run(*encoder, "other");
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(done.error().message.find("gradients"), std::string::npos);
}

}  // namespace
}  // namespace casemate
