#include "attack/craft_progress.h"

#include <cmath>

#include "attack/words.h"
#include "casemate/core/elapsed.h"

namespace casemate {

void CraftProgress::begin(std::string_view attack, std::size_t documents, std::uint64_t iterations,
                          std::uint64_t budget) {
  attack_ = attack;
  documents_ = documents;
  begun_ = std::chrono::steady_clock::now();
  if (progress_ == nullptr) return;
  progress_->note(attack_ + ": " + std::to_string(documents) + " documents, at most " + std::to_string(budget / 1000) +
                  " thousand tokens through the encoder");
  progress_->begin(attack_, documents * iterations, "iterations");
}

void CraftProgress::advance(std::uint64_t iterations) {
  if (progress_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  done_ += iterations;
  progress_->update(done_);
}

void CraftProgress::spend(std::uint64_t forward_tokens, std::uint64_t backward_tokens) {
  const std::lock_guard lock(mutex_);
  forward_tokens_ += forward_tokens;
  backward_tokens_ += backward_tokens;
}

void CraftProgress::end() {
  if (progress_ == nullptr) return;
  progress_->end();
  if (forward_tokens_ == 0 || documents_ == 0) return;
  const double seconds = seconds_since(begun_);
  progress_->note(attack_ + ": " + std::to_string(forward_tokens_ / 1000) + " thousand tokens forward and " +
                  std::to_string(backward_tokens_ / 1000) + " thousand back, " +
                  number_text(std::round(100 * seconds / static_cast<double>(documents_)) / 100) + " s a document");
}

}  // namespace casemate
