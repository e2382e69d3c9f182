#include "casemate/core/run_together.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace casemate {
namespace {

TEST(RunTogetherTest, EveryIndexRunsOnceAndAsManyAtOnceAsWereAskedFor) {
  constexpr std::size_t kAtOnce = 4;
  std::vector<std::atomic<int>> ran(50);
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t inside = 0;
  std::size_t most = 0;
  const Status done = run_together(ran.size(), kAtOnce, [&](std::size_t i) {
    ++ran[i];
    std::unique_lock lock(mutex);
    most = std::max(most, ++inside);
    changed.notify_all();
    // The first ones wait for each other: with fewer threads this would never end.
    if (i < kAtOnce) changed.wait(lock, [&] { return most >= kAtOnce; });
    --inside;
    return Status();
  });
  EXPECT_TRUE(done.ok());
  EXPECT_EQ(most, kAtOnce);
  for (const auto& each : ran) EXPECT_EQ(each, 1);
}

TEST(RunTogetherTest, TheErrorOfTheLowestIndexIsToldAndNoneBeginsAfterwards) {
  std::atomic<std::size_t> begun = 0;
  std::mutex mutex;
  std::condition_variable changed;
  bool later_failed = false;
  const Status done = run_together(1000, 2, [&](std::size_t i) -> Status {
    ++begun;
    std::unique_lock lock(mutex);
    if (i == 0) {  // fails after the other one did
      changed.wait(lock, [&] { return later_failed; });
      return Error{ErrorCode::kInvalidInput, "the first"};
    }
    later_failed = true;
    changed.notify_all();
    return Error{ErrorCode::kLimit, "a later one"};
  });
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().message, "the first");
  EXPECT_EQ(begun, 2U);
}

TEST(RunTogetherTest, NothingToDoIsNoError) {
  EXPECT_TRUE(run_together(0, 4, [](std::size_t) { return Status(Error{ErrorCode::kIo, "never called"}); }).ok());
  std::size_t ran = 0;
  EXPECT_TRUE(run_together(3, 0, [&](std::size_t) { return ++ran, Status(); }).ok());
  EXPECT_EQ(ran, 3U);
}

}  // namespace
}  // namespace casemate
