// Batches of several threads, and what one leaves to the next.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include "llm/llama_batch_fixture.h"

namespace casemate {
namespace {

using test::LlamaBatchTest;
using ::testing::HasSubstr;

TEST_F(LlamaBatchTest, ThreadsWhoseStepsAreTakenTogetherGetTheBitsThatEachGetsAlone) {
  const auto prefix = ids(story(4));
  const auto forced = ids(" and then the harbour was closed by the old guard");
  // Each thread has sequences of its own, some of which end early, so that others are moved into their places.
  const auto run = [&](std::size_t number, std::latch& begin) {
    std::vector<std::vector<TokenId>> suffixes;
    for (std::size_t i = 0; i < 3 + number; ++i)
      suffixes.push_back(ids(story(1 + static_cast<int>(i % 2), static_cast<int>(10 * number + i))));
    auto batch = model().start_batch(prefix, sequences(suffixes)).value();
    begin.arrive_and_wait();
    std::vector<std::vector<float>> seen;
    for (std::size_t t = 0; t < forced.size(); ++t) {
      std::vector<BatchAppend> appends;
      for (std::size_t i = 0; i < batch->size(); ++i) {
        if (i == number || t < 2 + i) appends.push_back({i, std::span(&forced[t], 1)});
      }
      if (t == 4) {
        // Back and the same way again.
        EXPECT_TRUE(batch->rewind(number, batch->tokens(number).size() - 1).ok());
        const BatchAppend again{number, std::span(&forced[t - 1], 1)};
        EXPECT_TRUE(batch->append(std::span(&again, 1)).ok());
      }
      EXPECT_TRUE(batch->append(appends).ok());
      seen.push_back(batch->log_probabilities(number).value());
    }
    // Those that had ended go on from where they were put.
    for (std::size_t i = 0; i < batch->size(); ++i) {
      const BatchAppend append{i, std::span(&forced[0], 1)};
      EXPECT_TRUE(batch->append(std::span(&append, 1)).ok());
      seen.push_back(batch->log_probabilities(i).value());
    }
    return seen;
  };
  // The same of each sequence in a batch of its own, where nothing is ever moved.
  const auto expected_of = [&](std::size_t number) {
    std::vector<std::vector<float>> watched, last;
    for (std::size_t i = 0; i < 3 + number; ++i) {
      const auto suffix = ids(story(1 + static_cast<int>(i % 2), static_cast<int>(10 * number + i)));
      auto batch = model().start_batch(prefix, sequences({suffix})).value();
      const auto append = [&](const TokenId& id) {
        const BatchAppend one{0, std::span(&id, 1)};
        EXPECT_TRUE(batch->append(std::span(&one, 1)).ok());
      };
      for (std::size_t t = 0; t < forced.size(); ++t) {
        if (i != number && t >= 2 + i) continue;
        append(forced[t]);
        if (i == number) watched.push_back(batch->log_probabilities(0).value());
      }
      append(forced[0]);
      last.push_back(batch->log_probabilities(0).value());
    }
    watched.insert(watched.end(), last.begin(), last.end());
    return watched;
  };
  std::vector<std::vector<std::vector<float>>> alone;
  for (std::size_t n = 0; n < 3; ++n) alone.push_back(expected_of(n));
  std::vector<std::vector<std::vector<float>>> together(3);
  std::latch begin(3);
  {
    std::vector<std::jthread> threads;
    for (std::size_t n = 0; n < 3; ++n) threads.emplace_back([&, n] { together[n] = run(n, begin); });
  }
  for (std::size_t n = 0; n < 3; ++n) EXPECT_EQ(together[n], alone[n]) << n;
}

TEST_F(LlamaBatchTest, CancellingOneThreadsBatchFreesItsSequencesAndLeavesTheOthersAsTheyAre) {
  const auto prefix = ids(story(2));
  const auto expected = model().generate_tokens(joined(prefix, ids("Once upon a time")), greedy(20))->ids;
  std::stop_source source;
  std::latch begin(2);
  std::jthread cancelled([&] {
    auto batch = model().start_batch(prefix, sequences({ids("one two"), ids("three four")})).value();
    begin.arrive_and_wait();
    const TokenId id = ids(" a")[0];
    for (int i = 0; i < 3; ++i) {
      const BatchAppend append{0, std::span(&id, 1)};
      ASSERT_TRUE(batch->append(std::span(&append, 1), source.get_token()).ok());
    }
    source.request_stop();
    EXPECT_EQ(batch->generate_greedy(50, {}, source.get_token()).error().code, ErrorCode::kCancelled);
  });
  auto batch = model().start_batch(prefix, sequences({ids("Once upon a time"), ids("Another story begins")})).value();
  begin.arrive_and_wait();
  EXPECT_EQ(batch->generate_greedy(20).value()[0].ids, expected);
  cancelled.join();
  batch.reset();
  // All places are free again.
  const auto few = ids("one two");
  EXPECT_TRUE(model().start_batch({}, std::vector<BatchSequence>(64, BatchSequence{few})).ok());
}

/// A batch of one sequence that a thread of its own has begun.
std::unique_ptr<LlmBatch> begun_elsewhere(LanguageModel& model, const std::vector<TokenId>& tokens) {
  std::unique_ptr<LlmBatch> out;
  std::thread([&] {
    const BatchSequence sequence{tokens};
    out = model.start_batch({}, std::span(&sequence, 1)).value();
  }).join();
  return out;
}

/// The first stream is free again, the second is another batch's: so the two sequences of the next batch lie on both
/// sides of it, and a row of the other's is computed between theirs.
class NeighboursTest : public LlamaBatchTest {
 protected:
  void begin(const std::vector<TokenId>& middle) {
    // Room for all: sequences are laid side by side where it has to be made.
    const auto word = ids("room");
    ASSERT_TRUE(model().start_batch({}, std::vector<BatchSequence>(6, BatchSequence{word})).ok());
    const auto first = model().start_batch({}, sequences({ids("first come")})).value();
    middle_ = begun_elsewhere(model(), middle);
  }
  void expect_that_both_sides_go_on() {
    const auto left = ids("Near the old wall");
    const auto right = ids("By the river there stood");
    const TokenId next = ids(" a")[0];
    auto sides = model().start_batch({}, sequences({left, right})).value();
    const std::vector<BatchAppend> both = {{0, std::span(&next, 1)}, {1, std::span(&next, 1)}};
    const Status stepped = sides->append(both);
    ASSERT_TRUE(stepped.ok()) << stepped.error().message;
    const auto seen = sides->log_probabilities(1).value();
    sides.reset();
    auto alone = model().start_batch({}, sequences({right})).value();
    ASSERT_TRUE(alone->append(std::span(both).first(1)).ok());
    EXPECT_EQ(alone->log_probabilities(0).value(), seen);
  }
  std::unique_ptr<LlmBatch> middle_;
};

TEST_F(NeighboursTest, AStateThatIsSavedAfterGoingBackLeavesNoCountOfCellsThatAreGone) {
  begin(ids("one two three four five six seven"));
  ASSERT_TRUE(middle_->rewind(0, 3).ok());
  ASSERT_TRUE(middle_->save_state(0).ok());
  expect_that_both_sides_go_on();
}

TEST_F(NeighboursTest, APromptThatIsCancelledAfterItsFirstPiecesLeavesNoneOfThem) {
  const auto more = ids(story(30, 3));
  ASSERT_GT(more.size(), 512U);
  for (const int wait_ms : {200, 600, 1200}) {
    begin(ids("one two three four five six seven"));
    std::stop_source source;
    std::jthread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
      source.request_stop();
    });
    const BatchAppend append{0, more};
    const Status appended = middle_->append(std::span(&append, 1), source.get_token());
    if (!appended) {
      EXPECT_EQ(appended.error().code, ErrorCode::kCancelled);
    }
    expect_that_both_sides_go_on();
    middle_.reset();
  }
}

TEST_F(LlamaBatchTest, SequencesShareABudgetOfCellsAndALongOneWaitsForIt) {
  auto options = test::test_options();
  options.context_tokens = 512;
  options.max_cells = 1;  // four of context_tokens remain: 3072 cells, as a stream of 513 has 768
  const auto few = test::load_or_null(test::small_model_path(), options);
  ASSERT_NE(few, nullptr);
  const auto word = ids("one two");
  const auto many = few->start_batch({}, std::vector<BatchSequence>(11, BatchSequence{word}));
  ASSERT_FALSE(many.ok());
  EXPECT_EQ(many.error().code, ErrorCode::kLimit);
  EXPECT_THAT(many.error().message, HasSubstr("max_cells"));
  auto short_ones = few->start_batch({}, std::vector<BatchSequence>(10, BatchSequence{word})).value();
  const auto text = ids(story(30));
  ASSERT_GE(text.size(), 300U);
  const auto long_one = std::span(text).first(300);
  std::atomic<bool> begun = false;
  std::jthread other([&] {
    const BatchSequence sequence{{long_one.begin(), long_one.end()}};
    const auto batch = few->start_batch({}, std::span(&sequence, 1));
    begun = true;
    EXPECT_TRUE(batch.ok()) << batch.error().message;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(begun);
  // Its own growing is refused, and it is the only one that ends by it.
  const BatchAppend grow{0, long_one};
  const Status grown = short_ones->append(std::span(&grow, 1));
  ASSERT_FALSE(grown.ok());
  EXPECT_EQ(grown.error().code, ErrorCode::kLimit);
  short_ones.reset();
  other.join();
  EXPECT_TRUE(few->start_batch({}, std::vector<BatchSequence>(10, BatchSequence{word})).ok());
}

}  // namespace
}  // namespace casemate
