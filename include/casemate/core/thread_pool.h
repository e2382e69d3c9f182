// casemate/core/thread_pool.h
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace casemate {

/// A fixed set of worker threads that wait passively (no spinning: a waiting pool uses no processor time).
///
/// `parallel_for` is the only way in. The calling thread works too, so a pool of n threads starts n - 1.
/// Several threads may call `parallel_for` at once; a call made from inside a task runs that task's work in
/// place (as worker 0), so nesting cannot deadlock. Tasks must not throw.
class ThreadPool {
 public:
  /// `threads` is clamped to [1, number of cores]; 0 means all cores.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int threads() const noexcept;

  /// Runs `task(i, worker)` once for each i in [0, count), worker in [0, threads()), and returns when all are done.
  /// Indices are handed out in order, one at a time: results must not depend on which worker runs which index.
  void parallel_for(std::size_t count, const std::function<void(std::size_t index, int worker)>& task) const;

  /// Number of cores this process may use (the affinity mask, not the machine).
  [[nodiscard]] static int available_cores() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace casemate
