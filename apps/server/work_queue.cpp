#include "work_queue.h"

#include <algorithm>

namespace casemate::server {

WorkQueue::WorkQueue(int threads, std::size_t capacity) : capacity_(capacity) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this](const std::stop_token& end) { work(end); });
}

void WorkQueue::close() {
  std::deque<Entry> dropped;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    dropped.swap(waiting_);
  }
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

bool WorkQueue::submit(std::function<void()> task, std::stop_token stop) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= capacity_) {
      std::erase_if(waiting_, [](const Entry& entry) { return entry.stop.stop_requested(); });
    }
    if (closed_ || waiting_.size() >= capacity_) return false;
    waiting_.push_back({std::move(task), std::move(stop)});
  }
  ready_.notify_one();
  return true;
}

std::size_t WorkQueue::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

std::size_t WorkQueue::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

void WorkQueue::work(const std::stop_token& end) {
  while (true) {
    Entry entry;
    {
      std::unique_lock lock(mutex_);
      if (!ready_.wait(lock, end, [this] { return !waiting_.empty(); }) || end.stop_requested()) return;
      entry = std::move(waiting_.front());
      waiting_.pop_front();
      ++running_;
    }
    if (!entry.stop.stop_requested()) entry.task();
    entry = {};
    const std::lock_guard lock(mutex_);
    --running_;
  }
}

}  // namespace casemate::server
