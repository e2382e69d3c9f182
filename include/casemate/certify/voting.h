// casemate/certify/voting.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "casemate/certify/outcome.h"

namespace casemate {

/// The letter with most votes, ties by order; nothing without votes.
[[nodiscard]] std::optional<std::size_t> voting_winner(std::span<const std::int64_t> counts);

/// Certificate over a data set, one case: true where letter `right` wins whatever `corrupted_groups` further groups
/// answer. `benign_counts` are the votes a letter, at least two letters, of the benign groups; one that is unstable
/// under the slack (its greedy path has a gap of at most 2 epsilon) counts as corrupted instead. Exact: where it is
/// false, some attack succeeds. Error: InvalidArgument for fewer letters, no such letter, or a negative number.
[[nodiscard]] Result<bool> voting_holds(std::span<const std::int64_t> benign_counts, std::size_t right,
                                        std::int64_t corrupted_groups);

/// The largest k' for which `evidence.winner` stays. `counts` are not looked at. Exact. Error: InvalidArgument for a
/// number of groups that does not fit the setting, a vote for no letter, or a margin that is no probability.
[[nodiscard]] Result<LiveOutcome> certify_voting(const VotingEvidence& evidence, const LiveSetting& setting);

}  // namespace casemate
