#include "casemate/llm/generate_each.h"

#include <gtest/gtest.h>

#include "testing/scripted_llm.h"

namespace casemate {
namespace {

std::unique_ptr<testing::ScriptedLlm> model(std::vector<Feature> features = {}) {
  testing::ScriptedLlmOptions options;
  options.vocabulary = {" red", " blue", " green"};
  options.answers = {{"sky", " blue"}, {"grass", " green"}, {"", " red"}};
  options.features = std::move(features);
  return *testing::ScriptedLlm::create(std::move(options));
}

std::vector<Prompt> prompts() {
  std::vector<Prompt> out;
  for (const char* text : {"sky", "blood", "grass", "the sky again"})
    out.push_back(PromptBuilder::chat().system("Name the colour of what follows.").user(text).build());
  return out;
}

std::vector<std::string> answers(const std::vector<Generation>& made) {
  std::vector<std::string> out;
  for (const Generation& each : made) out.push_back(each.text.bytes());
  return out;
}

TEST(GenerateEach, AnswersEachPromptByItselfInOrder) {
  const auto llm = model();
  const auto made = generate_each(*llm, prompts(), {5});
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(answers(*made), (std::vector<std::string>{" blue", " red", " green", " blue"}));
}

TEST(GenerateEach, ComputesTheCommonBeginningOnce) {
  const auto together = model();
  const auto alone = model();
  ASSERT_TRUE(generate_each(*together, prompts(), {1}).ok());
  for (const Prompt& prompt : prompts()) ASSERT_TRUE(generate_each(*alone, std::span(&prompt, 1), {1}).ok());
  // Three of the four prompts take "Name the colour of what follows." from the first.
  EXPECT_LT(together->usage().decoded_tokens + 3 * 30, alone->usage().decoded_tokens);
}

TEST(GenerateEach, AnswersTheSameInSmallBatchesAndWithoutBatches) {
  const auto llm = model();
  GenerateEachOptions options;
  options.max_new_tokens = 5;
  options.max_sequences = 3;
  const auto small = generate_each(*llm, prompts(), options);
  ASSERT_TRUE(small.ok());
  const auto plain = model({Feature::kTokens});
  const auto single = generate_each(*plain, prompts(), options);
  ASSERT_TRUE(single.ok());
  EXPECT_EQ(answers(*small), answers(*single));
}

TEST(GenerateEach, ATooLongPromptIsNamed) {
  testing::ScriptedLlmOptions options;
  options.vocabulary = {" a"};
  options.answers = {{"", " a"}};
  options.context_tokens = 64;
  options.features = {Feature::kTokens};
  const auto llm = *testing::ScriptedLlm::create(std::move(options));
  const std::vector<Prompt> both = {PromptBuilder::plain().text("short").build(),
                                    PromptBuilder::plain().text(std::string(100, 'x')).build()};
  const auto made = generate_each(*llm, both, {5});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kLimit);
  EXPECT_NE(made.error().message.find("prompt 2"), std::string::npos);
}

TEST(GenerateEach, NoPromptsGiveNoAnswers) {
  const auto llm = model();
  EXPECT_TRUE(generate_each(*llm, {}, {5})->empty());
  EXPECT_FALSE(generate_each(*llm, prompts(), {0}).ok());
}

TEST(CommonPrefix, LeavesEachSequenceATokenOfItsOwn) {
  const std::vector<std::vector<TokenId>> same = {{1, 2, 3}, {1, 2, 3}};
  EXPECT_EQ(common_prefix(same), 2U);
  const std::vector<std::vector<TokenId>> mixed = {{1, 2, 3}, {1, 2, 4, 5}, {1, 9}};
  EXPECT_EQ(common_prefix(mixed), 1U);
  EXPECT_EQ(common_prefix({}), 0U);
}

}  // namespace
}  // namespace casemate
