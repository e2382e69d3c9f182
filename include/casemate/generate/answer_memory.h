// casemate/generate/answer_memory.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "casemate/llm/language_model.h"
#include "casemate/llm/prompt.h"

namespace casemate {

/// A greedy answer to one prompt and how near it was to another.
struct GreedyAnswer {
  UntrustedText text;
  std::optional<double> smallest_gap;  ///< nothing where the model gives no probabilities
  std::size_t generated_tokens = 0;
  LlmUsage usage;
  FinishReason finish = FinishReason::kEnd;
  std::vector<NeutralisedString> neutralised;
  std::size_t prompt_tokens = 0;
};

struct AnswerMemoryUse {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::size_t answers = 0;  ///< held now
};

/// Greedy answers of ONE model, by the whole prompt: the conditions of an experiment and the cases of a certificate ask
/// the same isolated prompts over and over, and a greedy answer does not change. For experiments and proofs about a
/// data set; a server, whose tenants must not see each other's answers, keeps states of passages instead
/// (PassageStates). Thread-safe.
class AnswerMemory {
 public:
  /// At most `max_answers` (>= 1; 0 counts as 1) are held; the oldest go first.
  explicit AnswerMemory(std::size_t max_answers = std::size_t{1} << 16U);
  ~AnswerMemory();

  /// The answer to this prompt under this limit, as it was kept, with `usage` zero: nothing was computed.
  [[nodiscard]] std::optional<GreedyAnswer> find(const Prompt& prompt, int max_new_tokens);
  void keep(const Prompt& prompt, int max_new_tokens, GreedyAnswer answer);
  [[nodiscard]] AnswerMemoryUse use() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace casemate
