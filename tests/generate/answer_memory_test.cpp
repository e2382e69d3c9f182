#include "casemate/generate/answer_memory.h"

#include <gmock/gmock.h>

#include "casemate/generate/robust_rag.h"
#include "testing/scripted_llm.h"

namespace casemate {
namespace {

using ::testing::HasSubstr;
using testing::ScriptedLlm;
using testing::ScriptedLlmOptions;

std::vector<PromptPassage> passages_of(const std::vector<std::string>& texts) {
  std::vector<PromptPassage> out;
  for (const std::string& text : texts) out.push_back({UntrustedText(), UntrustedText(text)});
  return out;
}

std::unique_ptr<ScriptedLlm> capitals(std::vector<Feature> features = {}) {
  ScriptedLlmOptions options;
  options.vocabulary = {" Paris", " Rome", " London"};
  options.answers = {{"Hints: Paris", " Paris"}, {"says paris", " Paris"}, {"says rome", " Rome"}, {"", " London"}};
  options.features = std::move(features);
  return ScriptedLlm::create(std::move(options)).value();
}

RobustOptions keyword_options(AnswerMemory* memory) {
  RobustOptions options = robust_options(Aggregation::kKeyword, AnswerTask::kShortAnswer);
  options.keywords = [](const std::string& answer) { return std::set<std::string>{answer.substr(1)}; };
  options.answers = memory;
  return options;
}

Question where() {
  Question question;
  question.text = UntrustedText("Where is it?");
  return question;
}

GreedyAnswer saying(std::string text) {
  GreedyAnswer out;
  out.text = UntrustedText(std::move(text));
  out.usage = {5, 4, 1};
  return out;
}

/// Backends that take all groups as one batch, and those that are asked one prompt after the other.
class AnswerMemoryOf : public ::testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<ScriptedLlm> model_ =
      GetParam() ? capitals() : capitals({Feature::kTokens, Feature::kTopLogProbabilities});
};

TEST_P(AnswerMemoryOf, AGroupThatDidNotChangeIsNotAskedAgainAndTheAnswerIsTheSame) {
  AnswerMemory memory;
  const auto clean = passages_of({"says paris", "also says paris", "says rome"});
  const auto attacked = passages_of({"says paris", "also says paris", "planted, says rome"});
  ASSERT_TRUE(answer_robustly(*model_, where(), clean, keyword_options(&memory)).ok());
  const std::size_t asked = model_->prompts_seen().size();
  const auto remembered = answer_robustly(*model_, where(), attacked, keyword_options(&memory));
  ASSERT_TRUE(remembered.ok()) << remembered.error().message;
  // The planted passage only: the hints are the same as before, so their prompt is known as well.
  ASSERT_EQ(model_->prompts_seen().size(), asked + 1);
  EXPECT_THAT(model_->prompts_seen().back(), HasSubstr("planted"));
  EXPECT_EQ(remembered->remembered, 3U);
  EXPECT_EQ(remembered->usage.calls, 1U);
  const auto anew = answer_robustly(*model_, where(), attacked, keyword_options(nullptr));
  ASSERT_TRUE(anew.ok()) << anew.error().message;
  EXPECT_EQ(anew->remembered, 0U);
  EXPECT_EQ(remembered->text.bytes(), anew->text.bytes());
  EXPECT_EQ(remembered->counts, anew->counts);
  EXPECT_EQ(remembered->hints, anew->hints);
  EXPECT_EQ(remembered->second_prompt_gap, anew->second_prompt_gap);
  EXPECT_EQ(remembered->generated_tokens, anew->generated_tokens);
  EXPECT_EQ(remembered->prompt_tokens, anew->prompt_tokens);
  for (std::size_t i = 0; i < anew->groups.size(); ++i) {
    EXPECT_EQ(remembered->groups[i].text.bytes(), anew->groups[i].text.bytes());
    EXPECT_EQ(remembered->groups[i].smallest_gap, anew->groups[i].smallest_gap);
    EXPECT_EQ(remembered->groups[i].keywords, anew->groups[i].keywords);
  }
}

TEST_P(AnswerMemoryOf, AGroupThatIsTooLongStaysSo) {
  AnswerMemory memory;
  ScriptedLlmOptions small;
  small.context_tokens = 2000;
  small.answers = {{"", "A"}};
  if (!GetParam()) small.features = {Feature::kTokens};
  const auto model = ScriptedLlm::create(small).value();
  const auto passages = passages_of({"short", std::string(3000, 'x')});
  for (int round = 0; round < 2; ++round) {
    const auto answers = answer_groups(*model, where(), passages, passage_groups(2, 1), keyword_options(&memory));
    ASSERT_TRUE(answers.ok()) << answers.error().message;
    EXPECT_FALSE(answers->groups[0].too_long);
    EXPECT_TRUE(answers->groups[1].too_long);
    EXPECT_EQ(answers->remembered, round == 0 ? 0U : 1U);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, AnswerMemoryOf, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "ThatTakeABatch" : "ThatAreAskedOneByOne"; });

TEST(AnswerMemory, FindsAnAnswerUnderTheVerySamePromptAndLimitOnly) {
  AnswerMemory memory;
  const Prompt prompt =
      PromptBuilder::chat().system("Answer.").user("Passage: ").untrusted(UntrustedText("ab")).build();
  memory.keep(prompt, 20, saying("Paris"));
  const auto found = memory.find(prompt, 20);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->text.bytes(), "Paris");
  EXPECT_EQ(found->usage.calls, 0U);
  EXPECT_EQ(found->usage.decoded_tokens, 0U);
  EXPECT_FALSE(memory.find(prompt, 21).has_value());
  const std::vector<Prompt> others = {
      PromptBuilder::chat().system("Answer.").user("Passage: ").text("ab").build(),
      PromptBuilder::chat().system("Answer.").user("Passage: a").untrusted(UntrustedText("b")).build(),
      PromptBuilder::chat().system("Answer.").assistant("Passage: ").untrusted(UntrustedText("ab")).build(),
      PromptBuilder::chat().user("Answer.").user("Passage: ").untrusted(UntrustedText("ab")).build(),
      PromptBuilder::plain().text("Answer.Passage: ").untrusted(UntrustedText("ab")).build(),
      Prompt{},
  };
  for (const Prompt& other : others) EXPECT_FALSE(memory.find(other, 20).has_value());
  EXPECT_EQ(memory.use().hits, 1U);
  EXPECT_EQ(memory.use().misses, 1U + others.size());
}

TEST(AnswerMemory, HoldsNoMoreThanItMayAndTheOldestGoFirst) {
  AnswerMemory memory(2);
  const auto prompt = [](std::string_view text) { return PromptBuilder::plain().text(text).build(); };
  for (const char* each : {"one", "two", "two", "three"}) memory.keep(prompt(each), 1, saying(each));
  EXPECT_EQ(memory.use().answers, 2U);
  EXPECT_FALSE(memory.find(prompt("one"), 1).has_value());
  EXPECT_TRUE(memory.find(prompt("two"), 1).has_value());
  EXPECT_TRUE(memory.find(prompt("three"), 1).has_value());
}

}  // namespace
}  // namespace casemate
