#include <gtest/gtest.h>

#include "casemate/generate/robust_rag.h"
#include "llm/llm_fixture.h"
#include "support/temporary_folder.h"

namespace casemate {
namespace {

class RobustModelTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    LlamaOptions load = test::test_options();
    load.hash_file = true;  // kept states are bound to the file
    shared() = test::load_or_null(test::small_model_path(), load);
  }
  static void TearDownTestSuite() { shared().reset(); }
  void SetUp() override {
    if (shared() == nullptr) GTEST_SKIP() << "smollm2-135m-instruct-q4_1 is not here: casemate models pull fetches it";
  }
  static LanguageModel& model() { return *shared(); }

  static std::vector<PromptPassage> passages() {
    std::vector<PromptPassage> out;
    for (const char* text : {"The ferry to the island leaves the north quay at six in the morning.",
                             "At six the first ferry leaves; tickets are sold on board.",
                             "Bread rises faster in a warm kitchen than in a cold one.",
                             "Travellers take the ferry at six, before the wind rises."})
      out.push_back({UntrustedText("Note"), UntrustedText(text)});
    return out;
  }
  static Question question(const char* text = "When does the ferry leave?") {
    Question out;
    out.text = UntrustedText(text);
    return out;
  }
  RobustOptions options(Aggregation method) {
    RobustOptions out = robust_options(method, AnswerTask::kShortAnswer);
    out.max_new_tokens = 8;
    out.trace = true;
    out.keywords = keywords_by(*extractor_);
    return out;
  }
  RobustAnswer answer(const RobustOptions& with, const Question& asked) {
    auto made = answer_robustly(model(), asked, passages(), with);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return *std::move(made);
  }
  /// Equal to the last bit: answers, gaps, probabilities.
  static void expect_same(const RobustAnswer& a, const RobustAnswer& b) {
    EXPECT_EQ(a.text, b.text);
    EXPECT_EQ(a.second_prompt_gap, b.second_prompt_gap);
    ASSERT_EQ(a.groups.size(), b.groups.size());
    for (std::size_t i = 0; i < a.groups.size(); ++i) {
      EXPECT_EQ(a.groups[i].text, b.groups[i].text);
      EXPECT_EQ(a.groups[i].smallest_gap, b.groups[i].smallest_gap);
      EXPECT_EQ(a.groups[i].abstention_probability, b.groups[i].abstention_probability);
    }
    ASSERT_EQ(a.steps.size(), b.steps.size());
    for (std::size_t i = 0; i < a.steps.size(); ++i) {
      EXPECT_EQ(a.steps[i].token, b.steps[i].token);
      EXPECT_EQ(a.steps[i].no_retrieval, b.steps[i].no_retrieval);
      ASSERT_EQ(a.steps[i].groups.size(), b.steps[i].groups.size());
      for (std::size_t g = 0; g < a.steps[i].groups.size(); ++g)
        EXPECT_EQ(a.steps[i].groups[g].listed, b.steps[i].groups[g].listed);
    }
  }

  static std::unique_ptr<LanguageModel>& shared() {
    static std::unique_ptr<LanguageModel> model;
    return model;
  }

  std::unique_ptr<KeywordExtractor> extractor_ = KeywordExtractor::create().value();
};

TEST_F(RobustModelTest, KeptStatesGiveTheSameBitsForFewerTokensAlsoForAnotherQuestionAndFromFiles) {
  const test::TemporaryFolder folder;
  for (const Aggregation method : {Aggregation::kKeyword, Aggregation::kDecoding}) {
    RobustOptions with = options(method);
    const RobustAnswer uncached = answer(with, question());
    const RobustAnswer other_uncached = answer(with, question("What is sold on board?"));
    auto states = PassageStates::create({.folder = folder.path("states")}).value();
    with.states = states.get();
    const RobustAnswer cold = answer(with, question());
    const RobustAnswer warm = answer(with, question());
    expect_same(cold, uncached);
    expect_same(warm, uncached);
    expect_same(answer(with, question("What is sold on board?")), other_uncached);
    EXPECT_LT(warm.usage.decoded_tokens, uncached.usage.decoded_tokens);
    auto from_files = PassageStates::create({.folder = folder.path("states")}).value();
    with.states = from_files.get();
    expect_same(answer(with, question()), uncached);
    EXPECT_EQ(from_files->use().hits, 4U);
  }
}

TEST_F(RobustModelTest, TheSharedPrefixIsComputedOnce) {
  const RobustOptions with = options(Aggregation::kKeyword);
  static_cast<void>(answer(with, question()));
  const RobustAnswer again = answer(with, question());
  std::size_t alone = 0;
  for (const PromptPassage& passage : passages())
    alone += model().tokenize_prompt(isolated_prompt(question(), std::span(&passage, 1)).prompt)->ids.size();
  // Instruction and examples are more than half of each prompt here.
  EXPECT_LT(again.usage.decoded_tokens, alone / 2 + again.generated_tokens + 100);
  EXPECT_GT(again.usage.reused_tokens, alone / 3);
}

TEST_F(RobustModelTest, AGroupAnswersTheSameWhateverTheOthersAre) {
  const RobustOptions with = options(Aggregation::kKeyword);
  const auto all = passages();
  const std::vector<std::vector<std::size_t>> one = {{1}};
  const std::vector<std::vector<std::size_t>> many = {{0}, {2}, {1}, {3}};
  const auto alone = answer_groups(model(), question(), all, one, with).value();
  const auto among = answer_groups(model(), question(), all, many, with).value();
  EXPECT_EQ(alone.groups[0].text, among.groups[2].text);
  EXPECT_EQ(alone.groups[0].smallest_gap, among.groups[2].smallest_gap);
}

}  // namespace
}  // namespace casemate
