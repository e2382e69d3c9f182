#include "casemate/generate/answer_memory.h"

#include <atomic>

#include "casemate/core/fifo_cache.h"
#include "casemate/llm/prompt_digest.h"

namespace casemate {
namespace {

Digest key_of(const Prompt& prompt, int max_new_tokens) {
  return FieldHasher().add(std::int64_t{max_new_tokens}).add(prompt_digest(prompt)).finish();
}

}  // namespace

struct AnswerMemory::State {
  explicit State(std::size_t most) : answers(most) {}
  FifoCache<Digest, GreedyAnswer> answers;
  std::atomic<std::uint64_t> hits{0};
  std::atomic<std::uint64_t> misses{0};
};

AnswerMemory::AnswerMemory(std::size_t max_answers) : state_(std::make_unique<State>(max_answers)) {}
AnswerMemory::~AnswerMemory() = default;

std::optional<GreedyAnswer> AnswerMemory::find(const Prompt& prompt, int max_new_tokens) {
  auto known = state_->answers.find(key_of(prompt, max_new_tokens));
  ++(known ? state_->hits : state_->misses);
  return known;
}

void AnswerMemory::keep(const Prompt& prompt, int max_new_tokens, GreedyAnswer answer) {
  answer.usage = {};
  state_->answers.keep(key_of(prompt, max_new_tokens), std::move(answer));
}

AnswerMemoryUse AnswerMemory::use() const { return {state_->hits, state_->misses, state_->answers.size()}; }

}  // namespace casemate
