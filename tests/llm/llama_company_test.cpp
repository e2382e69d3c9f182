// Answers of several threads at the same time.
#include <gmock/gmock.h>

#include <atomic>
#include <latch>
#include <thread>

#include "llm/llama_batch_fixture.h"

namespace casemate {
namespace {

using test::LlamaBatchTest;

class LlamaCompanyTest : public LlamaBatchTest {
 protected:
  struct Request {
    std::vector<TokenId> prompt;
    GenerateOptions options;
  };

  /// Long and short ones, greedy, drawn, bound by a grammar, ended by a string.
  static std::vector<Request> requests() {
    std::vector<Request> out;
    for (int i = 0; i < 6; ++i) out.push_back({ids(story(1 + i, i) + "The next harbour"), greedy(8 + 3 * i)});
    for (std::size_t i = 0; i < 3; ++i) out[i].options.top_log_probabilities = 4;
    out[2].options.temperature = 0.9;
    out[3].options.temperature = 1.2;
    out[3].options.top_p = 0.9;
    out[3].options.seed = 5;
    out[4].options.grammar = "root ::= [a-z ]{20}";
    out[5].options.stop = {"16", "."};
    return out;
  }

  static Generation answer(const Request& request) {
    auto made = model().generate_tokens(request.prompt, request.options);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made ? *std::move(made) : Generation();
  }

  static void expect_same(const Generation& a, const Generation& b, const std::string& which) {
    EXPECT_EQ(a.ids, b.ids) << which;
    EXPECT_EQ(a.text.bytes(), b.text.bytes()) << which;
    EXPECT_EQ(a.finish, b.finish) << which;
    EXPECT_EQ(a.prompt_tokens, b.prompt_tokens) << which;
    ASSERT_EQ(a.positions.size(), b.positions.size()) << which;
    for (std::size_t p = 0; p < a.positions.size(); ++p) {
      ASSERT_EQ(a.positions[p].alternatives.size(), b.positions[p].alternatives.size()) << which;
      EXPECT_EQ(a.positions[p].chosen.log_probability, b.positions[p].chosen.log_probability) << which << " " << p;
      for (std::size_t i = 0; i < a.positions[p].alternatives.size(); ++i) {
        EXPECT_EQ(a.positions[p].alternatives[i].log_probability, b.positions[p].alternatives[i].log_probability)
            << which << " " << p << " " << i;
      }
    }
  }
};

TEST_F(LlamaCompanyTest, AnswersThatAreWrittenBesideOthersHaveTheBitsThatEachHasAlone) {
  const std::vector<Request> all = requests();
  std::vector<Generation> alone;
  for (const Request& request : all) alone.push_back(answer(request));
  EXPECT_GT(alone[0].positions.size(), 5U);
  EXPECT_EQ(alone[4].text.bytes().size(), 20U);
  const auto shared = ids(story(2));
  const auto batch_alone =
      model().start_batch(shared, sequences({ids("One"), ids("Two")})).value()->generate_greedy(12);
  for (int round = 0; round < 2; ++round) {
    std::vector<Generation> together(all.size());
    std::vector<Generation> batch;
    std::latch begin(static_cast<std::ptrdiff_t>(all.size() + 1));
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < all.size(); ++i) {
        threads.emplace_back([&, i] {
          begin.arrive_and_wait();
          together[i] = answer(all[i]);
        });
      }
      threads.emplace_back([&] {
        begin.arrive_and_wait();
        batch = model().start_batch(shared, sequences({ids("One"), ids("Two")})).value()->generate_greedy(12).value();
      });
    }
    for (std::size_t i = 0; i < all.size(); ++i) expect_same(together[i], alone[i], "request " + std::to_string(i));
    ASSERT_EQ(batch.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) expect_same(batch[i], (*batch_alone)[i], "batch " + std::to_string(i));
  }
}

TEST_F(LlamaCompanyTest, AShortAnswerIsReadyWhileALongOneThatBeganBeforeItGoesOn) {
  Request endless{ids("Say a:"), greedy(600)};
  endless.options.grammar = "root ::= \"a\"{2000}";
  std::latch begun(1);
  std::atomic<bool> other_is_ready = false;
  std::size_t pieces = 0;
  std::jthread other([&] {
    begun.wait();
    EXPECT_EQ(answer({ids(story(1)), greedy(5)}).ids.size(), 5U);
    other_is_ready = true;
  });
  const auto made = model().generate_tokens(endless.prompt, endless.options, {}, [&](std::string_view) {
    if (pieces++ == 0) begun.count_down();
    return !other_is_ready;
  });
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->finish, FinishReason::kEnd) << "the short answer waited for the long one";
}

TEST_F(LlamaCompanyTest, OneThatIsCancelledInCompanyLeavesTheOthersAsTheyAreAndItsPlaceFree) {
  const std::vector<Request> all = requests();
  const Generation expected = answer(all[0]);
  std::stop_source source;
  std::latch begun(1);
  Request endless{ids("Say a:"), greedy(600)};
  endless.options.grammar = "root ::= \"a\"{2000}";
  std::jthread cancelled([&] {
    std::size_t pieces = 0;
    const auto made =
        model().generate_tokens(endless.prompt, endless.options, source.get_token(), [&](std::string_view) {
          if (pieces++ == 0) begun.count_down();
          return true;
        });
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, ErrorCode::kCancelled);
  });
  begun.wait();
  expect_same(answer(all[0]), expected, "beside the endless one");
  source.request_stop();
  cancelled.join();
  expect_same(answer(all[0]), expected, "afterwards");
  const auto few = ids("one two");
  EXPECT_TRUE(model().start_batch({}, std::vector<BatchSequence>(64, BatchSequence{few})).ok());
}

TEST_F(LlamaCompanyTest, WhereThereIsNoRoomAmongTheOthersAnAnswerIsWrittenAllTheSame) {
  auto options = test::test_options();
  options.context_tokens = 512;
  options.max_sequences = 1;
  const auto narrow = test::load_or_null(test::small_model_path(), options);
  ASSERT_NE(narrow, nullptr);
  const auto prompt = ids(story(2));
  const auto expected = narrow->generate_tokens(prompt, greedy(20)).value();
  // One place: a batch of this thread has it, then one of the two threads.
  {
    const auto batch = narrow->start_batch({}, sequences({ids("one two")})).value();
    expect_same(narrow->generate_tokens(prompt, greedy(20)).value(), expected, "beside this thread's batch");
  }
  std::vector<Generation> together(4);
  {
    std::vector<std::jthread> threads;
    for (Generation& each : together)
      threads.emplace_back([&] { each = narrow->generate_tokens(prompt, greedy(20)).value(); });
  }
  for (const Generation& each : together) expect_same(each, expected, "four at once");
}

/// Its matrices of six and four bits are multiplied by another kernel from eight rows on.
TEST_F(LlamaCompanyTest, AModelWhoseKernelsChangeWithTheNumberOfRowsGivesTheBitsOfOneRowAllTheSame) {
  auto options = test::test_options();
  options.context_tokens = 256;
  const auto other = test::load_or_null(test::other_model_path(), options);
  if (other == nullptr) GTEST_SKIP() << "qwen2.5-coder-0.5b-instruct-q4_k_m is not here";
  const auto other_ids = [&](const std::string& text) {
    return other->tokenize(text, SpecialTokens::kAsText).value().ids;
  };
  const auto prefix = other_ids("The harbour was built in the old town.");
  const auto forced = other_ids(" and then");
  std::vector<std::vector<TokenId>> suffixes;
  for (int i = 0; i < 9; ++i)
    suffixes.push_back(other_ids(" Later, in 18" + std::to_string(10 + i) + ", it was rebuilt"));
  // What sequences expect next after each step.
  const auto steps_of = [&](std::span<const std::vector<TokenId>> some) {
    auto batch = other->start_batch(prefix, sequences({some.begin(), some.end()})).value();
    std::vector<std::vector<std::vector<float>>> seen(some.size());
    for (const TokenId& id : forced) {
      std::vector<BatchAppend> appends;
      for (std::size_t i = 0; i < some.size(); ++i) appends.push_back({i, std::span(&id, 1)});
      EXPECT_TRUE(batch->append(appends).ok());
      for (std::size_t i = 0; i < some.size(); ++i) seen[i].push_back(batch->log_probabilities(i).value());
    }
    return seen;
  };
  const auto together = steps_of(suffixes);
  for (std::size_t i = 0; i < suffixes.size(); ++i)
    EXPECT_TRUE(steps_of(std::span(suffixes).subspan(i, 1))[0] == together[i]) << "sequence " << i;
}

}  // namespace
}  // namespace casemate
