#include "casemate/llm/sample_answers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "testing/scripted_llm.h"

namespace casemate {
namespace {

/// Three words, of which each is likelier after itself, and an end that comes with one in eight.
std::unique_ptr<testing::ScriptedLlm> model(std::vector<Feature> features = {}) {
  testing::ScriptedLlmOptions options;
  options.vocabulary = {" red", " blue", " green"};
  options.byte_fallback = false;
  options.distribution = [](std::span<const TokenId> tokens, std::string_view) {
    std::vector<double> out(6, 0.0);
    out[testing::ScriptedLlm::kEnd] = 0.125;
    for (TokenId id = testing::ScriptedLlm::kFirstWord; id < 6; ++id)
      out[static_cast<std::size_t>(id)] = !tokens.empty() && tokens.back() == id ? 0.5 : 0.1875;
    return out;
  };
  options.features = std::move(features);
  return *testing::ScriptedLlm::create(std::move(options));
}

const Prompt kPrompt = PromptBuilder::chat().user(" red blue").build();

GenerateOptions drawing(int most) {
  GenerateOptions options;
  options.max_new_tokens = most;
  options.temperature = 1;
  return options;
}

std::vector<std::uint64_t> seeds(std::size_t count) {
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(1000 + 17 * i);
  return out;
}

TEST(SampleAnswers, EachDrawIsWhatItsSeedGivesAlone) {
  const auto llm = model();
  const auto together = sample_answers(*llm, kPrompt, drawing(20), seeds(40));  // more than one batch
  ASSERT_TRUE(together.ok()) << together.error().message;
  ASSERT_EQ(together->size(), 40U);
  const auto alone = model();
  std::map<FinishReason, int> ends;
  for (std::size_t i = 0; i < 40; ++i) {
    GenerateOptions options = drawing(20);
    options.seed = seeds(40)[i];
    const auto one = alone->generate(kPrompt, options);
    ASSERT_TRUE(one.ok()) << one.error().message;
    EXPECT_EQ((*together)[i].ids, one->ids) << i;
    EXPECT_EQ((*together)[i].text.bytes(), one->text.bytes()) << i;
    EXPECT_EQ((*together)[i].finish, one->finish) << i;
    EXPECT_EQ((*together)[i].prompt_tokens, one->prompt_tokens);
    EXPECT_EQ((*together)[i].generated_tokens, one->generated_tokens);
    ++ends[one->finish];
  }
  EXPECT_GT(ends[FinishReason::kEnd], 0);     // 7/8 to the 20th is .07: most end by themselves,
  EXPECT_GT(ends[FinishReason::kLength], 0);  // and some of 40 do not
  EXPECT_LT(llm->usage().decoded_tokens, alone->usage().decoded_tokens);  // the prompt once a batch
}

TEST(SampleAnswers, AModelWithoutBatchesIsAskedOneAfterAnother) {
  const auto llm = model();
  const auto plain = model({Feature::kTokens});
  const auto a = sample_answers(*llm, kPrompt, drawing(12), seeds(5));
  const auto b = sample_answers(*plain, kPrompt, drawing(12), seeds(5));
  ASSERT_TRUE(a.ok() && b.ok());
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ((*a)[i].text.bytes(), (*b)[i].text.bytes());
}

TEST(SampleAnswers, TheContextEndsAnAnswerAndATooLongPromptIsRefused) {
  testing::ScriptedLlmOptions options;
  options.vocabulary = {" a"};
  options.byte_fallback = false;
  options.context_tokens = 8;
  options.distribution = [](std::span<const TokenId>, std::string_view) { return std::vector<double>{0, 0, 0, 1}; };
  const auto llm = *testing::ScriptedLlm::create(std::move(options));
  const Prompt three = PromptBuilder::plain().text(" a a a").build();
  const auto made = sample_answers(*llm, three, drawing(50), seeds(2));
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ((*made)[0].ids.size(), 5U);
  EXPECT_EQ((*made)[0].finish, FinishReason::kLength);
  const Prompt nine = PromptBuilder::plain().text(" a a a a a a a a a").build();
  const auto refused = sample_answers(*llm, nine, drawing(50), seeds(2));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
}

TEST(SampleAnswers, NoSeedsGiveNoAnswersAndBadOptionsAreNamed) {
  const auto llm = model();
  EXPECT_TRUE(sample_answers(*llm, kPrompt, drawing(5), {})->empty());
  EXPECT_FALSE(sample_answers(*llm, kPrompt, drawing(0), seeds(2)).ok());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(sample_answers(*llm, kPrompt, drawing(5), seeds(2), stop.get_token()).error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace casemate
