// Every name that a user can write (attack, defence, metric, data set format, reading method, policy) stands in the
// documentation and in a test.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "casemate/attack/attacks.h"
#include "casemate/defend/defences.h"
#include "casemate/eval/answer_set.h"
#include "casemate/eval/data_set.h"
#include "casemate/eval/experiment.h"
#include "casemate/eval/reading_experiment.h"
#include "casemate/pipeline/policy.h"
#include "casemate/text/answer_match.h"

namespace casemate {
namespace {

namespace fs = std::filesystem;

std::string texts_below(const std::string& folder, std::initializer_list<std::string_view> endings) {
  std::string out;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(CASEMATE_SOURCE_DIR) / folder)) {
    const std::string name = entry.path().filename().string();
    const bool wanted =
        std::any_of(endings.begin(), endings.end(), [&name](std::string_view end) { return name.ends_with(end); });
    if (!entry.is_regular_file() || !wanted || name == "registered_names_test.cpp") continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    out += text.str() + "\n";
  }
  return out;
}

/// `name` stands as a word of its own: "ragpart" is not in "ragparts" nor in "hotflip-ragpart".
bool names(const std::string& text, std::string_view name) {
  const auto joins = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !joins(text[at - 1])) && (end == text.size() || !joins(text[end]))) return true;
  }
  return false;
}

class RegisteredNames : public ::testing::Test {
 protected:
  void SetUp() override {
    docs_ = texts_below("docs", {".md"});
    tests_ = texts_below("tests", {"_test.cpp", "_test.py", ".h"});
    ASSERT_GT(docs_.size(), 10'000U);
    ASSERT_GT(tests_.size(), 100'000U);
  }
  void expect(std::string_view what, std::string_view name) {
    EXPECT_TRUE(names(docs_, name)) << what << " \"" << name << "\" is on no page of docs/";
    EXPECT_TRUE(names(tests_, name)) << what << " \"" << name << "\" is in no test";
  }
  std::string docs_;
  std::string tests_;
};

TEST_F(RegisteredNames, OfAttacksAreDocumentedAndTested) {
  for (const AttackEntry& each : attacks()) expect("attack", each.name);
}
TEST_F(RegisteredNames, OfDefencesAreDocumentedAndTested) {
  for (const DefenceEntry& each : defences()) expect("defence", each.name);
}
TEST_F(RegisteredNames, OfMetricsAreDocumentedAndTested) {
  for (const std::string_view name : eval_measure_names()) {
    EXPECT_NE(docs_.find(std::string(name) + "@"), std::string::npos) << name;
    EXPECT_NE(tests_.find(std::string(name) + "@"), std::string::npos) << name;
  }
  Experiment judged;
  judged.judge = true;
  for (const std::string& name : reading_metrics(judged)) expect("metric", name);
}
TEST_F(RegisteredNames, OfDataSetFormatsAreDocumentedAndTested) {
  for (const DataFormat& each : data_formats()) expect("data set format", each.name);
}
TEST_F(RegisteredNames, OfWaysToAnswerAreDocumentedAndTested) {
  for (const std::string_view format : answer_formats()) expect("format of questions with passages", format);
  for (const AnswerTask task : {AnswerTask::kShortAnswer, AnswerTask::kMultipleChoice, AnswerTask::kLongText})
    expect("task", answer_task_name(task));
}
TEST_F(RegisteredNames, OfPoliciesAreDocumentedAndTested) {
  for (const Policy& each : policies()) {
    EXPECT_TRUE(names(docs_, each.name)) << "policy \"" << each.name << "\" is on no page of docs/";
    // Tests may ask for it without its date.
    const std::string plain = each.name.substr(0, each.name.find("-20"));
    EXPECT_TRUE(names(tests_, each.name) || names(tests_, plain)) << "policy \"" << each.name << "\" is in no test";
  }
}
TEST_F(RegisteredNames, OfShippedExperimentsAreDocumented) {
  for (const auto& entry : fs::directory_iterator(fs::path(CASEMATE_SOURCE_DIR) / "experiments")) {
    if (entry.path().extension() != ".yaml") continue;
    EXPECT_NE(docs_.find(entry.path().filename().string()), std::string::npos) << entry.path();
  }
}

TEST(ShippedData, OfLivesHasEachFactInMorePassagesThanAnAttackerPlants) {
  const auto lives =
      load_answer_set("jsonl", (fs::path(CASEMATE_SOURCE_DIR) / "experiments" / "robustrag-long.jsonl").string());
  ASSERT_TRUE(lives.ok()) << lives.error().message;
  EXPECT_EQ(lives->items.size(), 12U);
  EXPECT_TRUE(lives->broken.empty());
  for (const AnswerItem& each : lives->items) {
    EXPECT_EQ(each.passages.size(), 10U);
    ASSERT_EQ(each.facts.size(), 8U);
    // Each fact stands in more passages than an attacker of the budgets has.
    for (const auto& fact : each.facts) {
      const auto holding = std::count_if(each.passages.begin(), each.passages.end(), [&](const PromptPassage& passage) {
        return contains_answer(passage.text.bytes(), fact[0].bytes());
      });
      EXPECT_GE(holding, 3) << each.id << " " << fact[0].bytes();
    }
  }
}

TEST(Names, AreFoundAsWholeWordsAlone) {
  EXPECT_TRUE(names("a `ragpart` b", "ragpart"));
  EXPECT_FALSE(names("hotflip-ragpart ragparts", "ragpart"));
}

}  // namespace
}  // namespace casemate
