// casemate/generate/decoding_session.h
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "casemate/generate/robust_rag.h"

namespace casemate {

/// Tokens and their probabilities, or sums of them: descending, equal ones by id. What is missing has less than
/// `DecodingSession::kLeastProbability` and counts as 0.
using TokenProbabilities = std::vector<std::pair<TokenId, double>>;

/// Groups of passages that decode one common answer, each with its own passages before its eyes, and beside them the
/// question alone. Whoever drives it chooses the tokens and may go back, which certification does to follow several
/// answers. A token's distribution does not depend on the way it was reached.
///
/// Holds the model's batch for as long as it lives. Not thread-safe.
class DecodingSession {
 public:
  /// Smaller probabilities count as 0, in answers and certificates alike.
  static constexpr double kLeastProbability = 1e-7;

  /// Reads the prompts and leaves out the groups that decline with a probability above `options.gamma`.
  /// Error: Unsupported where the model has no full probabilities; what the model says; Cancelled.
  [[nodiscard]] static Result<std::unique_ptr<DecodingSession>> start(LanguageModel& model, const Question& question,
                                                                      std::span<const PromptPassage> passages,
                                                                      std::span<const std::vector<std::size_t>> groups,
                                                                      const RobustOptions& options,
                                                                      std::stop_token stop);
  ~DecodingSession();

  [[nodiscard]] std::span<const std::size_t> remaining() const noexcept;  ///< groups that decode, ascending
  /// At most how likely a group is to decline; its exact probability where that is near gamma or above. 1 where its
  /// prompt is too long for the context.
  [[nodiscard]] double abstention_probability(std::size_t group) const;
  [[nodiscard]] bool too_long(std::size_t group) const;

  [[nodiscard]] std::size_t depth() const noexcept;  ///< tokens of the answer so far
  /// Of the next token, one for each of `remaining()`, all in [kLeastProbability, 1]. Not after `rewind` alone.
  [[nodiscard]] Result<std::vector<TokenProbabilities>> next() const;
  /// The model without retrieval after the same answer so far: its likeliest tokens, `options.listed_probabilities` of
  /// them.
  [[nodiscard]] Result<TokenProbabilities> no_retrieval();
  /// Goes on with `token`, for all.
  [[nodiscard]] Status push(TokenId token);
  /// Back to an answer of `depth` tokens, to `push` another one. Error: InvalidArgument where it is not that long.
  [[nodiscard]] Status rewind(std::size_t depth);
  [[nodiscard]] bool full() const noexcept;  ///< what still decodes has reached the end of the context
  [[nodiscard]] LlmUsage usage() const noexcept;
  [[nodiscard]] std::size_t prompt_tokens() const noexcept;  ///< of all prompts, that of the question alone too

 private:
  struct State;
  explicit DecodingSession(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The sum over groups. Tokens are at least 0 and below the model's vocabulary, probabilities above 0.
[[nodiscard]] TokenProbabilities sum_probabilities(std::span<const TokenProbabilities> groups);

}  // namespace casemate
