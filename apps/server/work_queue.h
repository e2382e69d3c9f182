// A bounded queue in front of a few threads: what does not fit is refused at once instead of waiting without end.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace casemate::server {

/// Thread-safe. Tasks must not throw.
class WorkQueue {
 public:
  /// `threads` >= 1; at most `capacity` tasks wait beside those that run.
  WorkQueue(int threads, std::size_t capacity);
  ~WorkQueue() { close(); }
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  /// False where the queue is full. A task whose `stop` was requested before its turn is dropped without being run, and
  /// takes no place.
  [[nodiscard]] bool submit(std::function<void()> task, std::stop_token stop);
  /// Drops what waits, waits for what runs, and takes nothing more.
  void close();
  [[nodiscard]] std::size_t waiting() const;
  [[nodiscard]] std::size_t running() const;

 private:
  struct Entry {
    std::function<void()> task;
    std::stop_token stop;
  };
  void work(const std::stop_token& end);

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable_any ready_;
  std::deque<Entry> waiting_;
  std::size_t running_ = 0;
  bool closed_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace casemate::server
