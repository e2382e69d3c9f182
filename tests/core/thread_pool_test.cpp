#include "casemate/core/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace casemate {
namespace {

TEST(ThreadPool, RunsEachIndexExactlyOnceInManyRounds) {
  const ThreadPool pool(2);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::atomic<int>> seen(7);
    pool.parallel_for(seen.size(), [&](std::size_t i, int worker) {
      ASSERT_LT(worker, pool.threads());
      ++seen[i];
    });
    for (const auto& count : seen) ASSERT_EQ(count.load(), 1);
  }
}

TEST(ThreadPool, HelpersWorkOnEachRoundAndNotOnlyOnTheFirst) {
  const ThreadPool pool(2);
  if (pool.threads() < 2) GTEST_SKIP() << "one core";
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> helped{0};
    // Two tasks that wait for each other can only end if two threads run them.
    std::atomic<int> inside{0};
    pool.parallel_for(2, [&](std::size_t, int worker) {
      ++inside;
      while (inside.load() < 2) std::this_thread::yield();
      if (worker != 0) ++helped;
    });
    EXPECT_EQ(helped.load(), 1);
  }
}

TEST(ThreadPool, NestedCallsRunInPlace) {
  const ThreadPool pool(2);
  std::atomic<int> total{0};
  pool.parallel_for(4, [&](std::size_t, int) { pool.parallel_for(5, [&](std::size_t, int) { ++total; }); });
  EXPECT_EQ(total.load(), 20);
}

TEST(ThreadPool, SeveralThreadsMayCallAtOnce) {
  const ThreadPool pool(2);
  std::atomic<int> total{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) pool.parallel_for(3, [&](std::size_t, int) { ++total; });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total.load(), 1200);
}

TEST(ThreadPool, WaitsWithoutUsingTheProcessor) {
  const ThreadPool pool(2);
  pool.parallel_for(8, [](std::size_t, int) {});
  const auto used = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  const double before = used();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(used() - before, 0.1);
}

TEST(ThreadPool, NeverStartsMoreThreadsThanCores) {
  EXPECT_LE(ThreadPool(1000).threads(), ThreadPool::available_cores());
  EXPECT_EQ(ThreadPool(1).threads(), 1);
}

}  // namespace
}  // namespace casemate
