#include "casemate/eval/composed_experiment.h"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "casemate/core/file_system.h"
#include "casemate/eval/report.h"
#include "support/temporary_folder.h"
#include "testing/hash_encoder.h"
#include "testing/scripted_llm.h"

namespace casemate {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kYaml =
    "name: c\nkind: composed\ndata: {format: squad, path: squad.json}\ntop_k: 5\n"
    "defences: [{name: ragpart, combination: [1, 3]}]\nmethods: [keyword]\n"
    "planted: {passages: [1], poisoned_fragments: [0, 5], max_similarity: [-1.0]}\n";

class ComposedExperimentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    json paragraphs = json::array();
    for (int i = 0; i < 8; ++i) {
      const std::string id = std::to_string(i);
      paragraphs.push_back({{"context", "Boat number " + id + " in the harbour of Orvel was painted red by its owner."},
                            {"qas",
                             {{{"id", "q" + id},
                               {"question", "What colour has boat number " + id + "?"},
                               {"answers", {{{"text", "red"}, {"answer_start", 0}}}}}}}});
    }
    std::ofstream(folder_.path("squad.json"))
        << json{{"version", "1.1"}, {"data", {{{"title", "Boats"}, {"paragraphs", paragraphs}}}}}.dump();
    testing::ScriptedLlmOptions options;
    options.vocabulary = {"red"};
    options.answers = {{"", "red"}};
    model_ = *testing::ScriptedLlm::create(std::move(options));
    encoder_ = testing::make_hash_encoder({});
  }
  static Result<ComposedExperiment> parse(const std::string& yaml) {
    const auto root = YamlValue::parse(yaml, "c.yaml");
    if (!root) return root.error();
    EXPECT_TRUE(is_composed_experiment(*root));
    return read_composed_experiment(*root);
  }
  Result<AnswerRun> run(const std::string& out) {
    auto experiment = parse(kYaml);
    EXPECT_TRUE(experiment.ok()) << experiment.error().message;
    experiment->data.path = folder_.path("squad.json");
    EvalParts parts;
    parts.encoder = encoder_.get();
    parts.model = model_.get();
    parts.pool = &pool_;
    EvalOptions options;
    options.out = folder_.path(out);
    return run_composed_experiment(*experiment, parts, options, Progress::none(), {});
  }

  test::TemporaryFolder folder_;
  ThreadPool pool_{2};
  std::unique_ptr<testing::ScriptedLlm> model_;
  std::unique_ptr<Encoder> encoder_;
};

TEST_F(ComposedExperimentTest, AnAnswerStandsWhatCannotEnterAndNotWhatCanEnterEverything) {
  const auto done = run("out");
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done->asked, 8U * 2U);
  ASSERT_EQ(done->summary.conditions.size(), 2U);
  EXPECT_EQ(done->summary.conditions[0].method, "ragpart{combination: 1} > keyword");
  EXPECT_EQ(done->summary.conditions[0].right.count, 8U);
  int seen = 0;
  for (const CertifiedShare& each : done->summary.certified) {
    // Five passages of five say "red": one of them cannot change the answer.
    if (each.budget == "live 1") {
      EXPECT_EQ(each.certified.count, 8U) << each.method;
    }
    if (each.budget == "planted 1, fragments 0, similarity -1") {
      EXPECT_EQ(each.certified.count, 8U) << each.method;
      ++seen;
    }
    // All of a planted passage is the attacker's: it is in every list, and what it pushes out is not known.
    if (each.budget == "planted 1, fragments 5, similarity -1") {
      EXPECT_EQ(each.certified.of, 8U);
      EXPECT_LE(each.certified.count, 8U);
      ++seen;
    }
  }
  EXPECT_EQ(seen, 4);
  const std::string log = *read_file(folder_.path("out/queries/0-0-ragpart-combination-1-keyword-none.jsonl"));
  EXPECT_THAT(log, HasSubstr("enter at most 0 of 5 lists and change at most 0 of 5 passages"));
  EXPECT_THAT(log, HasSubstr("enter at most 5 of 5 lists"));
  EXPECT_TRUE(write_report(folder_.path("out")).ok());
}

TEST_F(ComposedExperimentTest, AStoppedRunGoesOnWithTheSameBytes) {
  ASSERT_TRUE(run("a").ok());
  ASSERT_TRUE(run("b").ok());
  const std::string log = folder_.path("b/queries/1-0-ragpart-combination-3-keyword-none.jsonl");
  const std::string text = *read_file(log);
  std::ofstream(log, std::ios::binary) << text.substr(0, text.size() / 2);
  const auto again = run("b");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_GT(again->asked, 0U);
  EXPECT_EQ(*read_file(log), text);
  for (const char* name : {"summary.json", "summary.csv", "summary.md"})
    EXPECT_EQ(*read_file(folder_.path(std::string("a/") + name)), *read_file(folder_.path(std::string("b/") + name)));
}

TEST_F(ComposedExperimentTest, WhatCannotBeComposedIsRefusedWithItsPlace) {
  const auto message = [](const std::string& defences, const std::string& methods, const std::string& planted) {
    const auto read = parse("name: c\nkind: composed\ndata: {path: x}\ndefences: " + defences +
                            "\nmethods: " + methods + "\nplanted: " + planted + "\n");
    return read.ok() ? std::string() : read.error().message;
  };
  const std::string good = "{passages: [1], poisoned_fragments: [1], max_similarity: [0.5]}";
  EXPECT_EQ(message("[ragpart]", "[keyword, decoding]", good), "");
  EXPECT_THAT(message("[cluster]", "[keyword]", good), HasSubstr("ragpart alone"));
  EXPECT_THAT(message("[ragprat]", "[keyword]", good), HasSubstr("ragpart"));
  EXPECT_THAT(message("[ragpart]", "[vanilla]", good), HasSubstr("groups of one passage"));
  EXPECT_THAT(message("[ragpart]", "['keyword{group_size: 2}']", good), HasSubstr("groups of one passage"));
  EXPECT_THAT(message("[ragpart]", "[voting]", good), HasSubstr("without options"));
  EXPECT_THAT(message("[ragpart]", "[keyword]", "{passages: [0], poisoned_fragments: [1], max_similarity: [0.5]}"),
              HasSubstr("c.yaml:6"));
  EXPECT_THAT(message("[ragpart]", "[keyword]", "{passages: [1], poisoned_fragments: [1]}"),
              HasSubstr("max_similarity"));
}

}  // namespace
}  // namespace casemate
