#include "llm/llama_turns.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

namespace casemate::llm {
namespace {

using namespace std::chrono_literals;

/// A step of `owner` that computes nothing.
LlamaStep step_of(const int& owner) {
  LlamaStep step;
  step.owner = &owner;
  return step;
}

void take(std::span<LlamaStep* const> steps, std::atomic<std::size_t>& calls, std::atomic<std::size_t>& most) {
  ++calls;
  most = std::max(most.load(), steps.size());
  std::this_thread::sleep_for(20ms);
}

TEST(LlamaTurnsTest, StepsThatWaitedForAPromptAreTakenInOneCall) {
  LlamaTurns turns;
  std::atomic<std::size_t> calls = 0;
  std::atomic<std::size_t> most = 0;
  const int owners[4] = {};
  turns.lock();
  {
    std::vector<std::jthread> threads;
    for (const int& owner : owners) {
      threads.emplace_back([&] {
        LlamaStep step = step_of(owner);
        turns.step(step, [&](auto steps) { take(steps, calls, most); });
        EXPECT_TRUE(step.status.ok());
      });
    }
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(calls, 0U);  // the prompt is still being read
    turns.unlock();
  }
  EXPECT_EQ(calls, 1U);
  EXPECT_EQ(most, 4U);
}

TEST(LlamaTurnsTest, ThoseWhoStepAgainAndAgainComeTogether) {
  LlamaTurns turns;
  std::atomic<std::size_t> calls = 0;
  std::atomic<std::size_t> most = 0;
  const int owners[3] = {};
  {
    std::vector<std::jthread> threads;
    for (const int& owner : owners) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) {
          LlamaStep step = step_of(owner);
          turns.step(step, [&](auto steps) { take(steps, calls, most); });
        }
        turns.rest(&owner);
      });
    }
  }
  EXPECT_EQ(most, 3U);
  // 60 one by one, 20 where all are always there; a loaded machine may come late now and then.
  EXPECT_LT(calls, 45U);
}

TEST(LlamaTurnsTest, AStepWaitsForThoseWhoAreGoneNoLongerThanAMoment) {
  LlamaTurns turns;
  std::atomic<std::size_t> calls = 0;
  std::atomic<std::size_t> most = 0;
  const int silent = 0;
  const int owner = 0;
  LlamaStep once = step_of(silent);
  turns.step(once, [&](auto steps) { take(steps, calls, most); });
  for (int i = 0; i < 3; ++i) {
    LlamaStep step = step_of(owner);
    turns.step(step, [&](auto steps) { take(steps, calls, most); });
    EXPECT_TRUE(step.done);
  }
  EXPECT_EQ(calls, 4U);
}

TEST(LlamaTurnsTest, AStepThatIsCancelledWhileItWaitsIsNotComputedAndOthersAre) {
  LlamaTurns turns;
  std::atomic<std::size_t> calls = 0;
  std::atomic<std::size_t> most = 0;
  const int owners[2] = {};
  std::stop_source source;
  turns.lock();
  std::jthread other([&] {
    LlamaStep step = step_of(owners[0]);
    turns.step(step, [&](auto steps) { take(steps, calls, most); });
    EXPECT_TRUE(step.status.ok());
  });
  {
    std::jthread stopped([&] {
      LlamaStep step = step_of(owners[1]);
      step.stop = source.get_token();
      turns.step(step, [&](auto steps) { take(steps, calls, most); });
      EXPECT_EQ(step.status.error().code, ErrorCode::kCancelled);
    });
    std::this_thread::sleep_for(50ms);
    source.request_stop();
  }  // ends although the turn is somebody else's
  EXPECT_EQ(calls, 0U);
  turns.unlock();
  other.join();
  EXPECT_EQ(most, 1U);
}

TEST(LlamaTurnsTest, PromptsGoFirstButStepsAreNotPassedOverForEver) {
  LlamaTurns turns;
  std::atomic<std::size_t> calls = 0;
  std::atomic<std::size_t> most = 0;
  std::atomic<int> prompts = 0;
  std::optional<int> before_the_step;
  const int owner = 0;
  turns.lock();
  std::vector<std::jthread> readers;
  for (int i = 0; i < 12; ++i) {
    readers.emplace_back([&] {
      const std::lock_guard turn(turns);
      ++prompts;
      std::this_thread::sleep_for(5ms);
    });
  }
  std::jthread stepper([&] {
    LlamaStep step = step_of(owner);
    turns.step(step, [&](auto steps) {
      before_the_step = prompts.load();
      take(steps, calls, most);
    });
  });
  std::this_thread::sleep_for(200ms);
  turns.unlock();
  stepper.join();
  readers.clear();
  EXPECT_EQ(before_the_step, 4);
  EXPECT_EQ(prompts, 12);
}

TEST(LlamaTurnsTest, AWholeTurnThatIsNoLongerWantedIsNotWaitedFor) {
  LlamaTurns turns;
  std::stop_source source;
  turns.lock();
  {
    std::jthread waiting([&] { EXPECT_FALSE(turns.lock_unless(source.get_token())); });
    source.request_stop();
  }
  turns.unlock();
  ASSERT_TRUE(turns.lock_unless({}));
  turns.unlock();
}

/// Ten sequences, or fewer longer ones.
constexpr PlaceLimits kTen = {10, 4096};

TEST(SequencePlacesTest, WhoDoesNotFitWaitsAndNobodyWaitsForItself) {
  SequencePlaces places;
  ASSERT_TRUE(places.take(6, 256, kTen, {}).ok());
  EXPECT_EQ(places.take(1, 256, kTen, {}).error().code, ErrorCode::kUnavailable);
  std::atomic<bool> taken = false;
  const auto self = std::this_thread::get_id();
  std::jthread other([&] {
    EXPECT_EQ(places.take(11, 256, kTen, {}).error().code, ErrorCode::kLimit);
    EXPECT_TRUE(places.take(5, 256, kTen, {}).ok());
    taken = true;
    places.give(std::this_thread::get_id());
  });
  std::stop_source source;
  std::jthread stopped(
      [&] { EXPECT_EQ(places.take(5, 256, kTen, source.get_token()).error().code, ErrorCode::kCancelled); });
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(taken);
  source.request_stop();
  stopped.join();
  places.give(self);
  other.join();
  EXPECT_TRUE(taken);
}

/// Takes places in a thread of its own and gives them back when told to.
class Taker {
 public:
  Taker(SequencePlaces& places, std::size_t count, std::size_t length)
      : thread_([this, &places, count, length](const std::stop_token& stop) {
          state = places.take(count, length, kTen, stop).ok() ? kHas : kWasRefused;
          if (state != kHas) return;
          while (!ends) std::this_thread::sleep_for(1ms);
          places.give(std::this_thread::get_id());
        }) {
    std::this_thread::sleep_for(30ms);  // so that those who come later do
  }
  void end() {
    ends = true;
    thread_.join();
  }
  void cancel() {
    thread_.request_stop();
    thread_.join();
  }
  [[nodiscard]] bool gets() const {
    for (int i = 0; i < 1000 && state == kWaits; ++i) std::this_thread::sleep_for(1ms);
    return state == kHas;
  }
  [[nodiscard]] bool waits() const { return state == kWaits; }
  ~Taker() { ends = true; }

 private:
  enum State { kWaits, kHas, kWasRefused };
  std::atomic<State> state = kWaits;
  std::atomic<bool> ends = false;
  std::jthread thread_;
};

TEST(SequencePlacesTest, LaterOnesWaitBehindTheFirstAlthoughTheyWouldFit) {
  SequencePlaces places;
  Taker small(places, 4, 256);
  ASSERT_TRUE(small.gets());
  Taker large(places, 10, 256);
  Taker later(places, 2, 256);
  EXPECT_TRUE(large.waits());
  EXPECT_TRUE(later.waits());
  small.end();
  EXPECT_TRUE(large.gets());
  EXPECT_TRUE(later.waits());
  large.end();
  EXPECT_TRUE(later.gets());
}

TEST(SequencePlacesTest, WhoWaitsBehindOneThatGivesUpGoesOn) {
  SequencePlaces places;
  Taker small(places, 4, 256);
  Taker large(places, 10, 256);
  Taker later(places, 2, 256);
  EXPECT_TRUE(later.waits());
  large.cancel();
  EXPECT_TRUE(later.gets());
}

TEST(SequencePlacesTest, OneLongSequenceWaitsWhereItWouldMakeAllStreamsLong) {
  SequencePlaces places;
  Taker short_ones(places, 6, 256);  // 8 x 256 of 4096 cells
  ASSERT_TRUE(short_ones.gets());
  Taker as_short(places, 1, 256);
  EXPECT_TRUE(as_short.gets());
  Taker long_one(places, 1, 1024);  // 10 x 1024
  EXPECT_TRUE(long_one.waits());
  short_ones.end();
  EXPECT_TRUE(long_one.gets());  // 4 x 1024
  EXPECT_EQ(places.take(3, 1024, kTen, {}).error().code, ErrorCode::kLimit);
}

}  // namespace
}  // namespace casemate::llm
