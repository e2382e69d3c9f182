#include "casemate/generate/answer_memory.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>

#include "casemate/core/hash.h"

namespace casemate {
namespace {

/// The number of a message's parts is a field too, so that no two prompts give the same list.
Digest key_of(const Prompt& prompt, int max_new_tokens) {
  FieldHasher fields;
  fields.add(std::int64_t{max_new_tokens}).add(std::int64_t{prompt.chat});
  for (const PromptMessage& message : prompt.messages) {
    fields.add(static_cast<std::int64_t>(message.role)).add(static_cast<std::int64_t>(message.parts.size()));
    for (const PromptPart& part : message.parts) fields.add(std::int64_t{part.trusted}).add(part.text);
  }
  return fields.finish();
}

}  // namespace

struct AnswerMemory::State {
  std::size_t max_answers = 1;
  mutable std::mutex mutex;
  std::map<Digest, GreedyAnswer> answers;
  std::deque<Digest> oldest_first;
  AnswerMemoryUse use;
};

AnswerMemory::AnswerMemory(std::size_t max_answers) : state_(std::make_unique<State>()) {
  state_->max_answers = std::max<std::size_t>(max_answers, 1);
}
AnswerMemory::~AnswerMemory() = default;

std::optional<GreedyAnswer> AnswerMemory::find(const Prompt& prompt, int max_new_tokens) {
  const Digest key = key_of(prompt, max_new_tokens);
  const std::lock_guard lock(state_->mutex);
  const auto known = state_->answers.find(key);
  if (known == state_->answers.end()) {
    ++state_->use.misses;
    return std::nullopt;
  }
  ++state_->use.hits;
  return known->second;
}

void AnswerMemory::keep(const Prompt& prompt, int max_new_tokens, GreedyAnswer answer) {
  answer.usage = {};
  const Digest key = key_of(prompt, max_new_tokens);
  const std::lock_guard lock(state_->mutex);
  if (!state_->answers.insert_or_assign(key, std::move(answer)).second) return;
  state_->oldest_first.push_back(key);
  if (state_->answers.size() <= state_->max_answers) return;
  state_->answers.erase(state_->oldest_first.front());
  state_->oldest_first.pop_front();
}

AnswerMemoryUse AnswerMemory::use() const {
  const std::lock_guard lock(state_->mutex);
  AnswerMemoryUse out = state_->use;
  out.answers = state_->answers.size();
  return out;
}

}  // namespace casemate
