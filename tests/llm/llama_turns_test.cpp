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

TEST(SequencePlacesTest, WhoDoesNotFitWaitsAndNobodyWaitsForItself) {
  SequencePlaces places;
  ASSERT_TRUE(places.take(6, 10, {}).ok());
  EXPECT_EQ(places.take(1, 10, {}).error().code, ErrorCode::kUnavailable);
  std::atomic<bool> taken = false;
  const auto self = std::this_thread::get_id();
  std::jthread other([&] {
    EXPECT_EQ(places.take(11, 10, {}).error().code, ErrorCode::kLimit);
    EXPECT_TRUE(places.take(5, 10, {}).ok());
    taken = true;
    places.give(5, std::this_thread::get_id());
  });
  std::stop_source source;
  std::jthread stopped([&] { EXPECT_EQ(places.take(5, 10, source.get_token()).error().code, ErrorCode::kCancelled); });
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(taken);
  source.request_stop();
  stopped.join();
  places.give(6, self);
  other.join();
  EXPECT_TRUE(taken);
}

}  // namespace
}  // namespace casemate::llm
