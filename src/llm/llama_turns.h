// Whose turn it is with a model. One thread computes at a time; single steps of several batches become one step.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/text/tokenizer.h"

namespace casemate::llm {

/// What whoever computes says after a stop was requested.
[[nodiscard]] Error stopped();

/// Where a sequence's cells lie. At one address for as long as it has a stream.
struct StreamUser {
  int stream = -1;        ///< -1: none
  std::size_t cells = 0;  ///< tokens computed there
  bool rests = false;     ///< took no part in its batch's latest step: it may be moved out of the way
};

/// One token of one sequence.
struct StepRow {
  StreamUser* user = nullptr;
  TokenId token = 0;
  std::size_t position = 0;
  std::vector<float>* logits = nullptr;  ///< gets what comes next
};

/// A step that one batch waits for.
struct LlamaStep {
  const void* owner = nullptr;  ///< the batch
  std::vector<StepRow> rows;
  std::vector<StreamUser*> resting;  ///< the batch's other sequences
  std::stop_token stop;
  Status status;
  bool done = false;
};

/// Thread-safe. Two kinds of turns: whole ones (prompts, states, attention), and steps. Those who wait for a whole turn
/// go first, so that prompts are read before the steps that follow them and these can be taken together; but steps are
/// passed over a few times at most.
class LlamaTurns {
 public:
  /// A whole turn; `std::lock_guard` fits.
  void lock();
  /// False where `stop` was requested before it was this thread's turn.
  [[nodiscard]] bool lock_unless(const std::stop_token& stop);
  void unlock();
  /// Somebody waits for a whole turn.
  [[nodiscard]] bool is_wanted();
  /// Steps were taken lately by somebody who is likely to be back.
  [[nodiscard]] bool has_walkers();

  /// Computes steps of different owners, in one thread; must set the status of each.
  using Compute = std::function<void(std::span<LlamaStep* const> steps)>;
  /// Returns when the step was computed, by this thread or by another one that waited for its turn, or was cancelled.
  void step(LlamaStep& step, const Compute& compute);
  /// `owner` takes no steps for now, so that nobody waits for it.
  void rest(const void* owner);

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] bool steps_are_due() const;
  [[nodiscard]] bool all_are_here() const { return pending_.size() >= walking_.size(); }
  void lead(std::unique_lock<std::mutex>& hold, const Compute& compute);
  void begin_whole();

  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool busy_ = false;
  std::size_t waiting_ = 0;  ///< for a whole turn
  int passed_over_ = 0;      ///< whole turns begun while steps waited
  std::vector<LlamaStep*> pending_;
  std::set<const void*> walking_;  ///< owners that took part in the latest step and are likely to be back
  Clock::time_point free_since_{};
  Clock::duration latest_step_{};
};

/// Streams of a shared session that are no sequence's.
inline constexpr std::size_t kSpareStreams = 2;

/// What all batches may have at once. Every stream of a session is as long as the longest, so that cells are streams
/// times that length.
struct PlaceLimits {
  std::size_t sequences = 0;
  std::size_t cells = 0;
};

/// How many sequences may be there at once, and how long. Thread-safe. First come, first served: who does not fit is
/// not overtaken by later ones that would.
class SequencePlaces {
 public:
  /// Waits until there is room for `count` sequences in streams of `length` cells. Error: Limit (more than there ever
  /// is); Unavailable where this thread has some already, so that it would wait for itself; Cancelled.
  [[nodiscard]] Status take(std::size_t count, std::size_t length, const PlaceLimits& most,
                            const std::stop_token& stop);
  /// The same without waiting: false where there is no room now, others wait for it, or this thread has some already.
  [[nodiscard]] bool take_at_once(std::size_t count, std::size_t length, const PlaceLimits& most);
  /// Gives back what the thread `taker` took.
  void give(std::thread::id taker);

 private:
  struct Taken {
    std::size_t count = 0;
    std::size_t length = 0;
  };
  [[nodiscard]] bool fits(Taken more, const PlaceLimits& most) const;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::thread::id, Taken> takers_;
  std::deque<std::thread::id> waiting_;  ///< in the order in which they came
};

}  // namespace casemate::llm
