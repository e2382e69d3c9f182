// certify/step_sums.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "casemate/certify/decoding.h"

namespace casemate::certify {

/// Sums over groups of the next-token probabilities, as bounds: a token that a group does not list has at least 0 and
/// at most the group's bound.
struct StepSums {
  std::vector<std::int32_t> tokens;  ///< ascending; every token that some group lists
  std::vector<Billionths> low;       ///< [tokens]
  std::vector<Billionths> high;      ///< [tokens]
  Billionths others = 0;             ///< most that a token outside `tokens` has
  bool has_others = false;           ///< there is such a token
  std::int64_t groups = 0;           ///< summed; each probability of each may be epsilon off
};

/// One step's groups side by side, to sum any of them.
class StepTable {
 public:
  StepTable(std::span<const SparseProbabilities* const> groups, std::int64_t vocabulary);

  [[nodiscard]] std::size_t columns() const noexcept { return sums_.tokens.size() + 1; }
  /// Sums of all groups but those whose bit is set. Valid until the next call.
  [[nodiscard]] const StepSums& sums_without(std::uint64_t removed);

 private:
  std::size_t groups_;
  std::vector<Billionths> low_;   ///< [groups, tokens]
  std::vector<Billionths> high_;  ///< [groups, tokens]
  std::vector<Billionths> others_;
  StepSums all_;
  StepSums sums_;
};

/// The tokens that can come out of `sums` and `corrupted` groups of the attacker.
[[nodiscard]] StepReach reach_of_sums(const StepSums& sums, std::int64_t corrupted, const DecodingRule& rule);

/// Error: InvalidOption.
[[nodiscard]] Status check_rule(const DecodingRule& rule);
/// Error: InvalidArgument.
[[nodiscard]] Status check_probabilities(const SparseProbabilities& group, std::int64_t vocabulary);

}  // namespace casemate::certify
