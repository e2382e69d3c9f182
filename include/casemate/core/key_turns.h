// casemate/core/key_turns.h
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>

namespace casemate {

/// One thread at a time for each key: whoever asks for what another thread is computing waits for it, and finds it in
/// the cache afterwards. Thread-safe. A thread that takes a key again while it holds it waits forever.
template <typename Key>
class KeyTurns {
 public:
  /// Held until it goes out of scope; the turns must outlive it.
  class Turn {
   public:
    Turn(KeyTurns& turns, const Key& key) : turns_(turns), key_(key) {}
    ~Turn() { turns_.give(key_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    KeyTurns& turns_;
    Key key_;
  };

  [[nodiscard]] Turn take(const Key& key) {
    std::unique_lock hold(mutex_);
    changed_.wait(hold, [&] { return !taken_.contains(key); });
    taken_.insert(key);
    return Turn(*this, key);
  }

 private:
  void give(const Key& key) {
    {
      const std::lock_guard hold(mutex_);
      taken_.erase(key);
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<Key> taken_;
};

}  // namespace casemate
