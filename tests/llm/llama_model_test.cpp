#include "casemate/llm/llama_model.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <numeric>
#include <thread>

#include "casemate/core/utf8.h"
#include "llm/llm_fixture.h"
#include "support/temporary_folder.h"

namespace casemate {
namespace {

using test::SmallModelTest;
using ::testing::HasSubstr;

class LlamaModelTest : public SmallModelTest {};

GenerateOptions greedy(int tokens) {
  GenerateOptions options;
  options.max_new_tokens = tokens;
  return options;
}

TEST_F(LlamaModelTest, SaysWhatItIs) {
  EXPECT_EQ(model().info().vocabulary_size, 49152U);  // config.json of SmolLM2-135M-Instruct
  EXPECT_EQ(model().info().layers, 30U);
  EXPECT_EQ(model().info().context_tokens, 1024U);
  EXPECT_TRUE(model().info().has_chat_template);
  EXPECT_TRUE(model().capabilities().has_attention());
}

TEST_F(LlamaModelTest, GoesOnWithAWellKnownSentence) {
  const auto answer = model().generate(PromptBuilder::plain().text("The capital of France is").build(), greedy(4));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_THAT(answer->text.bytes(), HasSubstr("Paris"));
  EXPECT_EQ(answer->generated_tokens, answer->ids.size());
  EXPECT_EQ(answer->finish, FinishReason::kLength);
}

TEST_F(LlamaModelTest, AnswersFromAPassageThroughTheChatTemplate) {
  const Prompt prompt = PromptBuilder::chat()
                            .system("Answer with one word.")
                            .user("Passage: ")
                            .untrusted(UntrustedText("The lighthouse keeper's dog is called Bruno."))
                            .text("\nQuestion: What is the dog called?")
                            .build();
  const auto answer = model().generate(prompt, greedy(30));
  ASSERT_TRUE(answer.ok());
  EXPECT_THAT(answer->text.bytes(), HasSubstr("Bruno"));
  EXPECT_EQ(answer->finish, FinishReason::kEnd);
}

TEST_F(LlamaModelTest, GreedyOutputDoesNotDependOnWhatIsCached) {
  const auto prompt = ids(story(5) + "The next harbour");
  const auto first = model().generate_tokens(prompt, greedy(12));
  ASSERT_TRUE(first.ok());
  const auto first_probabilities = model().next_token_log_probabilities(prompt).value();
  for (const int shared : {0, 2, 5}) {
    // Leaves a cache that shares some, none or all of the prompt.
    ASSERT_TRUE(model().generate_tokens(ids(story(shared) + "Meanwhile"), greedy(3)).ok());
    const auto again = model().generate_tokens(prompt, greedy(12));
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->ids, first->ids);
    ASSERT_TRUE(model().generate_tokens(ids(story(shared) + "Meanwhile"), greedy(3)).ok());
    EXPECT_EQ(model().next_token_log_probabilities(prompt).value(), first_probabilities) << shared;
  }
}

TEST_F(LlamaModelTest, HowMuchOfAPromptIsCachedChangesNoBit) {
  const auto prompt = ids(story(6));
  ASSERT_TRUE(model().next_token_log_probabilities(ids("Something else entirely")).ok());
  const auto whole = model().next_token_log_probabilities(prompt).value();
  for (const std::size_t last : {1U, 2U, 5U, 8U, 9U, 17U, 70U}) {
    // The cache holds all but `last` tokens, then something else.
    std::vector<TokenId> other(prompt.begin(), prompt.end() - static_cast<std::ptrdiff_t>(last));
    other.push_back(other.front());
    ASSERT_TRUE(model().next_token_log_probabilities(ids("Something else entirely")).ok());
    ASSERT_TRUE(model().next_token_log_probabilities(other).ok());
    const auto before = model().usage();
    const auto pieced = model().next_token_log_probabilities(prompt).value();
    EXPECT_LE(model().usage().decoded_tokens - before.decoded_tokens, last + 8);
    EXPECT_EQ(test::largest_difference(pieced, whole), 0) << last;
  }
}

TEST_F(LlamaModelTest, APrefixSeenBeforeIsNotComputedAgain) {
  const auto first = ids(story(10) + "First question?");
  const auto second = ids(story(10) + "Second question?");
  ASSERT_TRUE(model().generate_tokens(first, greedy(2)).ok());
  const auto before = model().usage();
  const auto answer = model().generate_tokens(second, greedy(1));
  ASSERT_TRUE(answer.ok());
  EXPECT_GE(answer->cached_tokens, ids(story(10)).size() - 8);
  EXPECT_EQ(model().usage().decoded_tokens - before.decoded_tokens, second.size() - answer->cached_tokens);
}

TEST_F(LlamaModelTest, ProbabilitiesSumToOneAndAgreeWithGreedyChoice) {
  const auto prompt = ids("The capital of France is");
  const auto log_probabilities = model().next_token_log_probabilities(prompt).value();
  ASSERT_EQ(log_probabilities.size(), model().info().vocabulary_size);
  double sum = 0;
  for (const float value : log_probabilities) sum += std::exp(static_cast<double>(value));
  EXPECT_NEAR(sum, 1.0, 1e-5);
  const auto best = std::max_element(log_probabilities.begin(), log_probabilities.end()) - log_probabilities.begin();
  EXPECT_EQ(model().generate_tokens(prompt, greedy(1))->ids.front(), best);
}

TEST_F(LlamaModelTest, TheScoreOfAContinuationIsTheProductOfItsSteps) {
  const auto prompt = ids("The capital of France is");
  for (const std::string text : {" Paris", " Paris, which lies on the Seine and has many bridges"}) {
    const auto continuation = ids(text);
    const auto score = model().score_continuation(prompt, continuation);
    ASSERT_TRUE(score.ok()) << score.error().message;
    ASSERT_EQ(score->log_probabilities.size(), continuation.size());
    std::vector<TokenId> so_far = prompt;
    double total = 0;
    for (std::size_t i = 0; i < continuation.size(); ++i) {
      const auto step = model().next_token_log_probabilities(so_far).value();
      EXPECT_NEAR(score->log_probabilities[i], step[static_cast<std::size_t>(continuation[i])], 1e-4) << i;
      total -= score->log_probabilities[i];
      so_far.push_back(continuation[i]);
    }
    EXPECT_NEAR(score->loss, total / static_cast<double>(continuation.size()), 1e-12);
  }
}

TEST_F(LlamaModelTest, ALongContinuationIsScoredTheSameColdAndWarm) {
  const auto prompt = ids(story(3));
  const auto continuation = ids(story(6, 1));  // more rows than one decode may output
  ASSERT_GT(continuation.size(), 70U);
  ASSERT_TRUE(model().next_token_log_probabilities(ids("Something else")).ok());
  const auto cold = model().score_continuation(prompt, continuation).value();
  const auto warm = model().score_continuation(prompt, continuation).value();
  EXPECT_EQ(cold.log_probabilities, warm.log_probabilities);
}

TEST_F(LlamaModelTest, SeededSamplingRepeatsAndSeedsDiffer) {
  const auto prompt = ids("Once upon a time there was");
  GenerateOptions options = greedy(16);
  options.temperature = 1.0;
  options.seed = 5;
  const auto a = model().generate_tokens(prompt, options)->ids;
  EXPECT_EQ(model().generate_tokens(prompt, options)->ids, a);
  options.seed = 6;
  EXPECT_NE(model().generate_tokens(prompt, options)->ids, a);
  options.top_k = 1;
  EXPECT_EQ(model().generate_tokens(prompt, options)->ids, model().generate_tokens(prompt, greedy(16))->ids);
}

TEST_F(LlamaModelTest, AGrammarForcesTheOutputsForm) {
  GenerateOptions options = greedy(10);
  options.grammar = "root ::= \"yes\" | \"no\" | \"perhaps\"";
  const auto answer = model().generate(PromptBuilder::chat().user("Is the sea wet?").build(), options);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_THAT(answer->text.bytes(), ::testing::AnyOf("yes", "no", "perhaps"));
  EXPECT_EQ(answer->finish, FinishReason::kEnd);
}

TEST_F(LlamaModelTest, ABrokenGrammarIsAnErrorWithItsReasonAndNothingIsPrinted) {
  GenerateOptions options = greedy(10);
  const std::pair<const char*, const char*> cases[] = {
      {"root ::= \"unclosed", "line 1, column 19: unexpected end of input"},
      {"root ::= <|no such token|>", "invalid token"},
      {"root ::= root \"a\" | \"b\"", "left recursion"},
  };
  for (const auto& [grammar, reason] : cases) {
    options.grammar = grammar;
    ::testing::internal::CaptureStderr();
    ::testing::internal::CaptureStdout();
    const auto refused = model().generate(PromptBuilder::chat().user("?").build(), options);
    EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
    ASSERT_FALSE(refused.ok()) << grammar;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidOption);
    EXPECT_THAT(refused.error().message, HasSubstr(reason));
  }
}

TEST_F(LlamaModelTest, AStopStringEndsTheTextBeforeIt) {
  GenerateOptions options = greedy(30);
  const auto prompt = PromptBuilder::plain().text("1, 2, 3, 4, 5, 6,").build();
  ASSERT_THAT(model().generate(prompt, options)->text.bytes(), HasSubstr("9"));
  options.stop = {"9"};
  std::string streamed;
  const auto answer = model().generate(prompt, options, {}, [&](std::string_view text) {
    streamed += text;
    return true;
  });
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->finish, FinishReason::kStopString);
  EXPECT_EQ(answer->text.bytes(), " 7, 8, ");
  EXPECT_EQ(streamed, answer->text.bytes());
}

TEST_F(LlamaModelTest, StreamedPiecesAreWholeCharacters) {
  std::string streamed;
  const auto answer =
      model().generate(PromptBuilder::plain().text("日本の首都は東京です。中国の首都は北京です。😀😃😄😁").build(),
                       greedy(24), {}, [&](std::string_view text) {
                         EXPECT_TRUE(is_valid_utf8(text));
                         streamed += text;
                         return true;
                       });
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(streamed, answer->text.bytes());
}

TEST_F(LlamaModelTest, APromptOverTheContextIsRefusedWithBothNumbers) {
  const std::vector<TokenId> prompt(5000, 42);
  const auto answer = model().generate_tokens(prompt, greedy(1));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kLimit);
  EXPECT_THAT(answer.error().message, HasSubstr("5000"));
  EXPECT_THAT(answer.error().message, HasSubstr("1024"));
}

TEST_F(LlamaModelTest, AnAnswerEndsWhereTheContextEnds) {
  LlamaOptions options = test::test_options();
  options.context_tokens = 256;
  const auto small = test::load_or_null(test::small_model_path(), options);
  ASSERT_NE(small, nullptr);
  const std::vector<TokenId> prompt(252, ids(" the").front());
  const auto answer = small->generate_tokens(prompt, greedy(100));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_LE(answer->ids.size(), 4U);
}

TEST_F(LlamaModelTest, WrongTokensAndEmptyPromptsAreRefused) {
  for (const std::vector<TokenId>& prompt :
       {std::vector<TokenId>{}, std::vector<TokenId>{-1}, std::vector<TokenId>{1, 49152}}) {
    const auto answer = model().generate_tokens(prompt, greedy(1));
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST_F(LlamaModelTest, StoppingEndsALongPromptEarlyAndLeavesTheModelUsable) {
  const auto prompt = ids(story(40));
  ASSERT_GT(prompt.size(), 700U);
  const auto expected = model().next_token_log_probabilities(ids("The capital of France is")).value();
  std::stop_source source;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    source.request_stop();
  });
  const auto stopped = model().next_token_log_probabilities(prompt, source.get_token());
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(model().next_token_log_probabilities(ids("The capital of France is")).value(), expected);
}

TEST_F(LlamaModelTest, TheReceiverCanEndAGeneration) {
  int calls = 0;
  const auto answer = model().generate(PromptBuilder::plain().text("1, 2, 3,").build(), greedy(50), {},
                                       [&](std::string_view) { return ++calls < 3; });
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(calls, 3);
}

TEST_F(LlamaModelTest, CallsFromSeveralThreadsGiveTheSameAsOneAfterTheOther) {
  std::vector<std::vector<TokenId>> expected;
  for (int i = 0; i < 4; ++i) expected.push_back(model().generate_tokens(ids(story(2, i)), greedy(5))->ids);
  std::vector<std::vector<TokenId>> got(4);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back(
          [&, i] { got[static_cast<std::size_t>(i)] = model().generate_tokens(ids(story(2, i)), greedy(5))->ids; });
    }
  }
  EXPECT_EQ(got, expected);
}

TEST(LlamaLoading, FilesThatAreNoModelGiveAClearError) {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(folder.path(name), std::ios::binary) << bytes;
    return folder.path(name);
  };
  const std::vector<std::string> paths = {
      write("empty.gguf", ""), write("text.gguf", std::string(1000, 'x')),
      write("magic.gguf", "GGUF" + std::string(1000, '\0')),
      write("huge_counts.gguf", "GGUF\x03" + std::string(3, '\0') + std::string(64, '\xff')), folder.root()};
  for (const std::string& path : paths) {
    const auto model = load_llama_model(path);
    ASSERT_FALSE(model.ok()) << path;
    EXPECT_EQ(model.error().code, ErrorCode::kInvalidInput) << path;
    EXPECT_THAT(model.error().message, HasSubstr(path));
  }
  const auto missing = load_llama_model(folder.path("none.gguf"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

TEST(LlamaLoading, ATruncatedModelIsRefusedAndSaysWhichTensor) {
  const std::string path = test::small_model_path();
  if (path.empty()) GTEST_SKIP() << "smollm2-135m-instruct-q4_1 is not here";
  const test::TemporaryFolder folder;
  std::string bytes(std::size_t{30} << 20U, '\0');
  std::ifstream(path, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  for (const std::size_t size : {std::size_t{30}, std::size_t{5000}, std::size_t{1} << 20U, std::size_t{30} << 20U}) {
    std::ofstream(folder.path("cut.gguf"), std::ios::binary) << bytes.substr(0, size);
    const auto model = load_llama_model(folder.path("cut.gguf"));
    ASSERT_FALSE(model.ok()) << size;
    EXPECT_EQ(model.error().code, ErrorCode::kInvalidInput);
  }
  const auto model = load_llama_model(folder.path("cut.gguf"));
  EXPECT_THAT(model.error().message, HasSubstr("cut short"));
}

TEST(LlamaLoading, OptionsOutOfRangeAreNamed) {
  LlamaOptions options;
  options.chunk_tokens = 1;
  const auto model = load_llama_model("x.gguf", options);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, ErrorCode::kInvalidOption);
  EXPECT_THAT(model.error().message, HasSubstr("chunk_tokens is 1"));
  // llama.cpp has 256, two of which are nobody's.
  options = {};
  options.max_sequences = 255;
  EXPECT_THAT(load_llama_model("x.gguf", options).error().message, HasSubstr("it must be in [1, 254]"));
  options.max_sequences = 254;
  EXPECT_EQ(load_llama_model("x.gguf", options).error().code, ErrorCode::kNotFound);
  options.max_cells = 0;
  EXPECT_THAT(load_llama_model("x.gguf", options).error().message, HasSubstr("max_cells is 0"));
}

}  // namespace
}  // namespace casemate
