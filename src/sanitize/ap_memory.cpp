#include "casemate/sanitize/ap_memory.h"

#include <atomic>
#include <chrono>
#include <utility>

#include "casemate/core/elapsed.h"
#include "casemate/core/fifo_cache.h"
#include "casemate/core/hash.h"
#include "casemate/core/key_turns.h"

namespace casemate {
namespace {

struct Remembered {
  ApKeywords keywords;
  double seconds = 0;
};

Digest key_of(const ModelInfo& model, const UntrustedText& question, std::span<const ContextPassage> passages,
              const ApOptions& options) {
  FieldHasher fields;
  fields.add(model.name).add(model.file_hash).add(std::int64_t{options.k_cand}).add(std::int64_t{options.k_out});
  fields.add(static_cast<std::int64_t>(options.steps)).add(static_cast<std::int64_t>(options.attention));
  fields.add(static_cast<std::int64_t>(options.perturbation)).add(static_cast<std::int64_t>(options.loss));
  fields.add(std::int64_t{options.max_draft_tokens}).add(std::int64_t{options.max_context_tokens});
  fields.add(std::int64_t{options.max_perturbed}).add(question.bytes());
  for (const ContextPassage& passage : passages) fields.add(passage.title.bytes()).add(passage.text.bytes());
  return fields.finish();
}

}  // namespace

struct ApMemory::State {
  explicit State(std::size_t most) : found(most) {}
  FifoCache<Digest, Remembered> found;
  KeyTurns<Digest> turns;
  std::atomic<double> saved{0};
};

ApMemory::ApMemory(std::size_t most) : state_(std::make_unique<State>(most)) {}
ApMemory::~ApMemory() = default;

double ApMemory::saved_seconds() const { return state_->saved; }

Result<ApKeywords> ApMemory::find(LanguageModel& model, const KeywordExtractor& tagger, const UntrustedText& question,
                                  std::span<const ContextPassage> passages, const ApOptions& options,
                                  std::stop_token stop) {
  const Digest key = key_of(model.info(), question, passages, options);
  const auto turn = state_->turns.take(key);
  if (auto known = state_->found.find(key)) {
    state_->saved += known->seconds;
    return std::move(known->keywords);
  }
  const auto begin = std::chrono::steady_clock::now();
  auto made = find_ap_keywords(model, tagger, question, passages, options, std::move(stop));
  if (!made) return made;
  state_->found.keep(key, {*made, seconds_since(begin)});
  return made;
}

}  // namespace casemate
