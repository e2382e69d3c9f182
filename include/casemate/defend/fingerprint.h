// casemate/defend/fingerprint.h
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "casemate/defend/defences.h"
#include "casemate/defend/retrieval_defence.h"

namespace casemate {

/// What becomes of text that is unlike anything sealed.
enum class UnlikePolicy : std::uint8_t {
  kKeep,        ///< it stays; the evidence has its p-value
  kPenalty,     ///< `penalty` is taken off its score
  kQuarantine,  ///< it is dropped
};

/// Range of each field in its comment.
struct FingerprintOptions {
  int pool_size = 20;  ///< candidates examined, at least top_k; in [1, 1000]
  double near_copy_jaccard =
      0.6;  ///< shingles in common, of all that either has, from which on a text is a copy; (0, 1]
  double near_copy_contained = 0.5;  ///< the same, of the candidate's own: a piece of a sealed text; (0, 1]
  double near_copy_cosine = 0.95;    ///< from which on texts that share half of their words are copies; (0, 1]
  UnlikePolicy unlike = UnlikePolicy::kKeep;
  double unlike_p = 0.01;  ///< p-values below it are unlike; in [0, 1]
  double penalty = 0.05;   ///< in units of the score; in [0, 1000]
  int max_examined = 400;  ///< how far down a ranking full of copies is read; in [1, 10000]
  std::string public_key;  ///< 64 hexadecimal digits: only this owner's seal counts; empty: any valid one
};

/// Compares every candidate, the first one included, with the tenant's sealed documents (casemate seal).
///
/// - An equal text or a near copy is dropped: the sealed original stands for it, with its own score and rights.
/// - A near copy with other content words is a conflict, and yields to the sealed one; the verdict lists the words.
/// - Text unlike anything sealed gets a conformal p-value: the share of sealed passages that lie at least as far from
///   their nearest sealed neighbour. `unlike` says what follows.
///
/// A copy's place is filled as if the copy were not in the store, so it moves nothing and nobody, the original
/// included. Only originals that the caller's filter lets through are compared with: the result depends on nothing that
/// the caller may not see. docs/defences/fingerprint.md says what it does not stop.
///
/// Thread-safe. Sealed passages are read on first use, and again after each commit that the store shows.
class Fingerprint final : public RetrievalDefence {
 public:
  /// Checks the seal of every tenant that has one. `services.store` and `services.pool` must outlive the defence.
  /// Error: InvalidOption; InvalidArgument without a store or where no tenant has a seal (with the command that makes
  /// one); Corrupt or Mismatch for a seal that does not hold.
  [[nodiscard]] static Result<std::unique_ptr<Fingerprint>> create(const FingerprintOptions& options,
                                                                   const DefenceServices& services);
  ~Fingerprint() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "fingerprint"; }
  [[nodiscard]] Parameters parameters() const override;
  [[nodiscard]] int pool_size(int top_k) const noexcept override;
  /// As the base class says, and: InvalidArgument for a tenant without a seal. Candidates need no embedding (only
  /// texts are compared then).
  [[nodiscard]] Result<DefendedRanking> rank(const DefenceQuery& query, std::span<const PassageCandidate> candidates,
                                             int top_k, std::stop_token stop) const override;

 private:
  struct State;
  explicit Fingerprint(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace casemate
