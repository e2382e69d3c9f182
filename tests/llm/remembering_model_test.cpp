#include "casemate/llm/remembering_model.h"

#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>
#include <thread>

#include "testing/scripted_llm.h"

namespace casemate {
namespace {

std::unique_ptr<testing::ScriptedLlm> model() {
  testing::ScriptedLlmOptions options;
  options.vocabulary = {" red", " blue", " green"};
  options.answers = {{"sky", " blue green red"}, {"", " red"}};
  return *testing::ScriptedLlm::create(std::move(options));
}

Prompt asked(const char* text) { return PromptBuilder::chat().user(text).build(); }

/// What a reader of so many pieces gets, and what it sees.
struct Seen {
  std::string text;
  std::string pieces;
  FinishReason finish = FinishReason::kEnd;
  friend bool operator==(const Seen&, const Seen&) = default;
};

Seen read(LanguageModel& llm, const char* text, std::size_t most, GenerateOptions options = {}) {
  Seen out;
  std::size_t count = 0;
  const auto made = llm.generate(asked(text), options, {}, [&](std::string_view piece) {
    out.pieces += "|" + std::string(piece);
    return ++count < most;
  });
  EXPECT_TRUE(made.ok()) << made.error().message;
  if (made.ok()) out.text = made->text.bytes();
  if (made.ok()) out.finish = made->finish;
  return out;
}

TEST(RememberingModel, AGreedyTextIsComputedOnceAndSeenTheSameWay) {
  const auto llm = model();
  RememberingModel remembering(*llm);
  const Seen first = read(remembering, "sky", 100);
  EXPECT_EQ(first.text, " blue green red");
  EXPECT_EQ(read(remembering, "sky", 100), first);
  EXPECT_EQ(llm->prompts_seen().size(), 1U);
  EXPECT_GT(remembering.saved_seconds(), 0);
  read(remembering, "grass", 100);
  EXPECT_EQ(llm->prompts_seen().size(), 2U);
}

TEST(RememberingModel, WhereverReadersEndTheTextTheyGetWhatTheModelGivesThem) {
  // Every pair of a first and a second reader, against a model that remembers nothing.
  for (std::size_t first = 1; first < 6; ++first) {
    for (std::size_t second = 1; second < 6; ++second) {
      const auto llm = model();
      const auto plain = model();
      RememberingModel remembering(*llm);
      EXPECT_EQ(read(remembering, "sky", first), read(*plain, "sky", first));
      EXPECT_EQ(read(remembering, "sky", second), read(*plain, "sky", second)) << first << " then " << second;
      const auto whole = remembering.generate(asked("sky"), {}, {}, {});
      ASSERT_TRUE(whole.ok());
      EXPECT_EQ(whole->text.bytes(), " blue green red") << first << " then " << second;
    }
  }
}

TEST(RememberingModel, OtherOptionsAreOtherTexts) {
  const auto llm = model();
  RememberingModel remembering(*llm);
  EXPECT_EQ(read(remembering, "sky", 100).text, " blue green red");
  GenerateOptions options;
  options.max_new_tokens = 1;
  EXPECT_EQ(read(remembering, "sky", 100, options).finish, FinishReason::kLength);
  options = {};
  options.stop = {"green"};
  EXPECT_EQ(read(remembering, "sky", 100, options).finish, FinishReason::kStopString);
  EXPECT_EQ(llm->prompts_seen().size(), 3U);
}

TEST(RememberingModel, WhatIsDrawnIsDrawnAgain) {
  const auto llm = model();
  RememberingModel remembering(*llm);
  GenerateOptions options;
  options.temperature = 1;
  read(remembering, "sky", 100, options);
  read(remembering, "sky", 100, options);
  EXPECT_EQ(llm->prompts_seen().size(), 2U);
}

TEST(RememberingModel, TheOldestTextsGoFirst) {
  const auto llm = model();
  RememberingModel remembering(*llm, 2);
  for (const char* text : {"sky", "sea", "grass", "sky"}) read(remembering, text, 100);
  EXPECT_EQ(llm->prompts_seen().size(), 4U);
  read(remembering, "grass", 100);
  EXPECT_EQ(llm->prompts_seen().size(), 4U);
}

TEST(RememberingModel, PreparedTextsAreThoseThatTheModelGivesByItself) {
  const auto llm = model();
  const auto plain = model();
  RememberingModel remembering(*llm);
  const std::vector<Prompt> prompts = {asked("sky"), asked("grass"), asked("sky again")};
  GenerateOptions options;
  options.max_new_tokens = 2;
  ASSERT_TRUE(remembering.prepare(prompts, options).ok());
  const std::size_t computed = llm->prompts_seen().size();
  for (const char* text : {"sky", "grass", "sky again"}) {
    const Seen seen = read(remembering, text, 100, options);
    const Seen expected = read(*plain, text, 100, options);
    EXPECT_EQ(seen.text, expected.text);
    EXPECT_EQ(seen.finish, expected.finish);
    EXPECT_EQ(seen.pieces, expected.pieces);
  }
  ASSERT_TRUE(remembering.prepare(prompts, options).ok());
  EXPECT_EQ(llm->prompts_seen().size(), computed);
  // A reader that ends elsewhere gets the model's own pieces.
  EXPECT_EQ(read(remembering, "sky", 1, options).text, read(*plain, "sky", 1, options).text);
  EXPECT_EQ(read(remembering, "grass", 1, options), read(*plain, "grass", 1, options));
  options.temperature = 1;
  EXPECT_EQ(remembering.prepare(prompts, options).error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(remembering.prepare({}, {}).ok());
}

/// A model whose answers take as long as somebody wants.
class SlowModel final : public LanguageModel {
 public:
  explicit SlowModel(LanguageModel& model) : model_(model) {}
  const ModelInfo& info() const noexcept override { return model_.info(); }
  Capabilities capabilities() const noexcept override { return model_.capabilities(); }
  Result<Generation> generate(const Prompt& prompt, const GenerateOptions& options, std::stop_token stop,
                              const OnText& on_text) override {
    ++calls;
    ready.acquire();
    return model_.generate(prompt, options, std::move(stop), on_text);
  }
  std::atomic<int> calls = 0;
  std::counting_semaphore<> ready{0};

 private:
  LanguageModel& model_;
};

TEST(RememberingModel, WhatOneThreadIsComputingOthersWaitForAndAnotherTextDoesNot) {
  const auto llm = model();
  SlowModel slow(*llm);
  RememberingModel remembering(slow);
  std::vector<Seen> seen(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 3; ++i) threads.emplace_back([&, i] { seen[i] = read(remembering, "sky", 100); });
    threads.emplace_back([&] { seen[3] = read(remembering, "grass", 100); });
    while (slow.calls < 2) std::this_thread::yield();  // the first of the sky's, and the grass
    slow.ready.release(4);
  }
  EXPECT_EQ(slow.calls, 2);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(seen[i].text, " blue green red");
  EXPECT_EQ(seen[3].text, " red");
}

}  // namespace
}  // namespace casemate
