// casemate/llm/llm_batch.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/text/tokenizer.h"

namespace casemate {

struct Generation;

/// Work done, so that tests and reports can show what was computed and what was not.
struct LlmUsage {
  std::uint64_t decoded_tokens = 0;  ///< tokens that went through the network
  std::uint64_t reused_tokens = 0;   ///< prompt tokens found in a cache instead
  std::uint64_t calls = 0;           ///< generations, scorings, batches, attention runs
};

/// The processed form of a token sequence (key-value state) as bytes, checked by a hash and bound to its model file.
/// May be written to disk; a state of another model or with a flipped bit is refused when used.
struct SequenceState {
  std::string bytes;
};

/// One sequence of a batch: it starts from the batch's prefix, or from `state` where that is given (which must begin
/// with the prefix), and goes on with `suffix`.
struct BatchSequence {
  std::span<const TokenId> suffix;  ///< not empty unless there is a prefix or state to predict from
  const SequenceState* state = nullptr;
  bool alone = false;  ///< begins from nothing instead: `suffix` is all of it, and `state` must be null
};

/// Tokens to be appended to one sequence.
struct BatchAppend {
  std::size_t sequence = 0;
  std::span<const TokenId> tokens;
};

/// Sequences that share a prefix, decoded in lock step: the prefix goes through the network once and its state is
/// copied. Between calls each sequence has its next-token distribution ready.
///
/// Not thread-safe in itself (one user), but other calls on the model may run between its steps.
class LlmBatch {
 public:
  virtual ~LlmBatch() = default;
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
  /// Tokens of a sequence so far, prefix included.
  [[nodiscard]] virtual std::span<const TokenId> tokens(std::size_t sequence) const = 0;

  /// Natural logarithms [vocabulary_size] of the sequence's next token. Error: InvalidArgument (no such sequence).
  [[nodiscard]] virtual Result<std::vector<float>> log_probabilities(std::size_t sequence) const = 0;
  /// Appends tokens to some or all sequences; single tokens go through the network together in one step.
  /// Error: InvalidArgument (index twice or out of range, bad id), Limit (context), Model, Cancelled. After Cancelled
  /// or Model the batch is spent: every further call gives that error.
  [[nodiscard]] virtual Status append(std::span<const BatchAppend> appends, std::stop_token stop = {}) = 0;
  /// Forgets all but the first `tokens` of a sequence, to go on from there another way. Its distribution is not ready
  /// until something is appended. Error: InvalidArgument (no such sequence; 0 or more tokens than it has).
  [[nodiscard]] virtual Status rewind(std::size_t sequence, std::size_t tokens) = 0;
  /// Continues every sequence greedily, in lock step, to its end token, a stop string or `max_new_tokens`, which
  /// ends the batch.
  [[nodiscard]] virtual Result<std::vector<Generation>> generate_greedy(int max_new_tokens,
                                                                        std::span<const std::string> stop_strings = {},
                                                                        std::stop_token stop = {}) = 0;
  /// The sequence's state, to start a later batch from.
  [[nodiscard]] virtual Result<SequenceState> save_state(std::size_t sequence) const = 0;
  /// What this batch has computed.
  [[nodiscard]] virtual LlmUsage usage() const noexcept = 0;
};

}  // namespace casemate
