#include "llm/llama_turns.h"

#include <algorithm>
#include <exception>
#include <string>

namespace casemate::llm {
namespace {

/// So often a prompt may be read before steps that wait.
constexpr int kMostPassedOver = 4;
/// A step waits for the others for a quarter of what a step takes: one more row costs less than another step.
constexpr int kShareOfAStep = 4;

}  // namespace

Error stopped() { return {ErrorCode::kCancelled, "the caller asked to stop"}; }

bool LlamaTurns::steps_are_due() const { return !pending_.empty() && passed_over_ >= kMostPassedOver; }

void LlamaTurns::begin_whole() {
  busy_ = true;
  if (!pending_.empty()) ++passed_over_;
}

void LlamaTurns::lock() {
  std::unique_lock hold(mutex_);
  ++waiting_;
  changed_.wait(hold, [this] { return !busy_ && !steps_are_due(); });
  --waiting_;
  begin_whole();
}

bool LlamaTurns::lock_unless(const std::stop_token& stop) {
  std::unique_lock hold(mutex_);
  ++waiting_;
  const bool mine = changed_.wait(hold, stop, [this] { return !busy_ && !steps_are_due(); });
  --waiting_;
  if (!mine || stop.stop_requested()) {
    changed_.notify_all();  // steps may have waited for this one
    return false;
  }
  begin_whole();
  return true;
}

void LlamaTurns::unlock() {
  {
    const std::lock_guard hold(mutex_);
    busy_ = false;
    free_since_ = Clock::now();
  }
  changed_.notify_all();
}

bool LlamaTurns::is_wanted() {
  const std::lock_guard hold(mutex_);
  return waiting_ > 0;
}

bool LlamaTurns::has_walkers() {
  const std::lock_guard hold(mutex_);
  return !walking_.empty();
}

void LlamaTurns::rest(const void* owner) {
  {
    const std::lock_guard hold(mutex_);
    if (walking_.erase(owner) == 0) return;
  }
  changed_.notify_all();
}

void LlamaTurns::step(LlamaStep& step, const Compute& compute) {
  // Made before the lock is taken: where the stop was requested already, it is called here and now.
  const std::stop_callback wake(step.stop, [this] {
    { const std::lock_guard hold(mutex_); }
    changed_.notify_all();
  });
  std::unique_lock hold(mutex_);
  pending_.push_back(&step);
  walking_.insert(step.owner);
  changed_.notify_all();
  while (!step.done) {
    if (step.stop.stop_requested() && std::erase(pending_, &step) > 0) {
      step.status = stopped();
      walking_.erase(step.owner);
      changed_.notify_all();
      return;
    }
    if (busy_ || (waiting_ > 0 && !steps_are_due())) {
      changed_.wait(hold);
      continue;
    }
    const auto latest = free_since_ + latest_step_ / kShareOfAStep;
    if (all_are_here() || Clock::now() >= latest) {
      lead(hold, compute);
    } else {
      changed_.wait_until(hold, latest);
    }
  }
}

void LlamaTurns::lead(std::unique_lock<std::mutex>& hold, const Compute& compute) {
  std::vector<LlamaStep*> steps;
  steps.swap(pending_);
  busy_ = true;
  passed_over_ = 0;
  // Who is not here is not waited for until it comes back by itself.
  walking_.clear();
  for (const LlamaStep* each : steps) walking_.insert(each->owner);
  hold.unlock();
  const auto began = Clock::now();
  try {
    compute(steps);
  } catch (const std::exception& failure) {
    for (LlamaStep* each : steps)
      each->status = Error{ErrorCode::kModel, std::string("decoding failed: ") + failure.what()};
  }
  hold.lock();
  free_since_ = Clock::now();
  latest_step_ = free_since_ - began;
  for (LlamaStep* each : steps) each->done = true;
  busy_ = false;
  changed_.notify_all();
}

bool SequencePlaces::fits(Taken more, const PlaceLimits& most) const {
  for (const auto& [taker, taken] : takers_) {
    more.count += taken.count;
    more.length = std::max(more.length, taken.length);
  }
  return more.count <= most.sequences && (more.count + kSpareStreams) * more.length <= most.cells;
}

Status SequencePlaces::take(std::size_t count, std::size_t length, const PlaceLimits& most,
                            const std::stop_token& stop) {
  std::unique_lock hold(mutex_);
  const auto self = std::this_thread::get_id();
  if (takers_.contains(self))
    return Error{ErrorCode::kUnavailable, "another batch of this thread is in use; end it first"};
  if (count > most.sequences) {
    return Error{ErrorCode::kLimit, "a batch of " + std::to_string(count) +
                                        " sequences was asked for and max_sequences is " +
                                        std::to_string(most.sequences)};
  }
  if ((count + kSpareStreams) * length > most.cells) {
    return Error{ErrorCode::kLimit,
                 "a batch of " + std::to_string(count) + " sequences in streams of " + std::to_string(length) +
                     " cells was asked for, and there are " + std::to_string(most.cells) + " cells, " +
                     std::to_string(kSpareStreams) +
                     " spare streams included; ask for fewer or shorter sequences, or raise max_cells"};
  }
  waiting_.push_back(self);
  const bool mine = changed_.wait(hold, stop, [&] { return waiting_.front() == self && fits({count, length}, most); });
  std::erase(waiting_, self);
  if (mine) takers_[self] = {count, length};
  // Whoever is next now may fit too.
  changed_.notify_all();
  if (!mine) return stopped();
  return {};
}

bool SequencePlaces::take_at_once(std::size_t count, std::size_t length, const PlaceLimits& most) {
  const std::lock_guard hold(mutex_);
  const auto self = std::this_thread::get_id();
  if (takers_.contains(self) || !waiting_.empty() || !fits({count, length}, most)) return false;
  takers_[self] = {count, length};
  return true;
}

void SequencePlaces::give(std::thread::id taker) {
  {
    const std::lock_guard hold(mutex_);
    takers_.erase(taker);
  }
  changed_.notify_all();
}

}  // namespace casemate::llm
