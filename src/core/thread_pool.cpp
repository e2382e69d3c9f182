#include "casemate/core/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace casemate {
namespace {

// Set while a thread runs a task, so that nested calls work in place instead of waiting for busy workers.
thread_local bool inside_task = false;

}  // namespace

struct ThreadPool::State {
  struct Job {
    std::size_t count = 0;
    const std::function<void(std::size_t, int)>* task = nullptr;
    std::atomic<std::size_t> next{0};
    int active = 0;  // helpers inside the job, guarded by State::mutex
  };

  std::mutex mutex;
  std::condition_variable work;
  std::condition_variable idle;
  std::mutex one_job;  // callers from different threads take turns
  Job* job = nullptr;
  std::uint64_t generation = 0;  // tells one job from the next, whose address may be the same
  bool stopping = false;
  std::vector<std::thread> helpers;

  static void drain(Job& job, int worker) {
    inside_task = true;
    for (std::size_t i = job.next.fetch_add(1); i < job.count; i = job.next.fetch_add(1)) (*job.task)(i, worker);
    inside_task = false;
  }

  void help(int worker) {
    std::unique_lock lock(mutex);
    std::uint64_t seen = 0;
    while (true) {
      work.wait(lock, [&] { return stopping || (job != nullptr && generation != seen); });
      if (stopping) return;
      seen = generation;
      Job& mine = *job;
      ++mine.active;
      lock.unlock();
      drain(mine, worker);
      lock.lock();
      if (--mine.active == 0) idle.notify_all();
    }
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  const int cores = available_cores();
  const int wanted = threads <= 0 ? cores : std::min(threads, cores);
  for (int i = 1; i < wanted; ++i) state_->helpers.emplace_back([state = state_.get(), i] { state->help(i); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->work.notify_all();
  for (std::thread& helper : state_->helpers) helper.join();
}

int ThreadPool::threads() const noexcept { return static_cast<int>(state_->helpers.size()) + 1; }

void ThreadPool::parallel_for(std::size_t count, const std::function<void(std::size_t, int)>& task) const {
  if (count == 0) return;
  if (inside_task) {
    for (std::size_t i = 0; i < count; ++i) task(i, 0);
    return;
  }
  const std::lock_guard turn(state_->one_job);
  if (count == 1 || state_->helpers.empty()) {
    inside_task = true;
    for (std::size_t i = 0; i < count; ++i) task(i, 0);
    inside_task = false;
    return;
  }
  State::Job job;
  job.count = count;
  job.task = &task;
  {
    const std::lock_guard lock(state_->mutex);
    state_->job = &job;
    ++state_->generation;
  }
  state_->work.notify_all();
  State::drain(job, 0);
  std::unique_lock lock(state_->mutex);
  state_->job = nullptr;
  state_->idle.wait(lock, [&] { return job.active == 0; });
}

int ThreadPool::available_cores() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace casemate
