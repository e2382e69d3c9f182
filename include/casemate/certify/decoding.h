// casemate/certify/decoding.h
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "casemate/certify/outcome.h"

namespace casemate {

struct DecodingRule {
  Billionths eta = 0;              ///< the best token is emitted where it leads by more; in [0, 1000 kOne]
  Billionths epsilon = 1'000'000;  ///< error of one probability; in [0, kOne]
  std::int64_t vocabulary = 0;     ///< tokens of the model; >= 2
};

/// A probability for a certificate: rounded to the nearest billionth, which epsilon covers. Error: InvalidArgument for
/// NaN, or what is not in [0, 1] (up to 1e-6 above 1 counts as 1).
[[nodiscard]] Result<Billionths> to_billionths(double probability);

/// One group's listed tokens, in any order, and a bound for all others. Error: as `to_billionths`; InvalidArgument for
/// a token that is negative or stands twice.
[[nodiscard]] Result<SparseProbabilities> sparse_probabilities(std::span<const std::pair<std::int32_t, double>> listed,
                                                               double unlisted_at_most);

/// Of the model without retrieval: the tokens that it may emit, those within 2 epsilon of its likeliest, ascending.
/// Nothing where tokens that are not listed may be among them. Error: as `sparse_probabilities`.
[[nodiscard]] Result<std::optional<std::vector<std::int32_t>>> no_retrieval_candidates(
    std::span<const std::pair<std::int32_t, double>> listed, double unlisted_at_most, Billionths epsilon);

/// What one step can emit whatever the corrupted groups say.
struct StepReach {
  std::vector<std::int32_t> tokens;  ///< listed tokens that can lead all others by more than eta; ascending
  bool no_retrieval = false;         ///< the token without retrieval can be emitted
  bool any_token = false;            ///< a token that no benign group lists can be emitted, so any one can
};

/// `benign` are the groups that pass the filter; groups that are within epsilon of gamma count as corrupted instead.
/// Exact where all probabilities are listed and epsilon is 0, otherwise it errs to more tokens. Error: InvalidOption;
/// InvalidArgument for tokens that are not ascending or outside the vocabulary, values outside [0, kOne], or a
/// negative number of groups.
[[nodiscard]] Result<StepReach> decoding_reach(std::span<const SparseProbabilities> benign,
                                               std::int64_t corrupted_groups, const DecodingRule& rule);

/// How a model answers one case, for each prefix of the answer.
struct DecodingModel {
  /// Next-token probabilities of the benign groups that pass the filter; as many at every prefix.
  std::function<Result<std::vector<SparseProbabilities>>(std::span<const std::int32_t> prefix)> groups;
  /// Tokens that the model without retrieval may emit: those within 2 epsilon of its likeliest. At least one.
  std::function<Result<std::vector<std::int32_t>>(std::span<const std::int32_t> prefix)> no_retrieval;
  std::function<bool(std::int32_t token)> is_end;
  /// Of a whole output, its end token included.
  std::function<Result<double>(std::span<const std::int32_t> output)> score;
};

struct DecodingCaseOptions {
  DecodingRule rule;
  std::int64_t corrupted_groups = 1;
  std::int64_t max_new_tokens = 20;  ///< >= 1
  std::int64_t max_steps = 1024;     ///< prefixes that are looked at, the budget; >= 1
};

/// Certificate over a data set, one case: tau is the least score of any output, found depth-first. Not certified, with
/// the reason, where any token can be emitted or the budget runs out. Error: InvalidOption; what `decoding_reach` and
/// the callbacks say; Cancelled, after at most one more look at a prefix.
[[nodiscard]] Result<CaseOutcome> certify_decoding_case(const DecodingModel& model, const DecodingCaseOptions& options,
                                                        const std::stop_token& stop = {});

/// The largest k' for which every emitted token of `evidence` is forced. Error: InvalidOption; InvalidArgument as
/// `decoding_reach`, for a number of groups that does not fit the setting or exceeds 64, or probabilities of a group
/// that abstains or is unstable (or none of one that answers). Where there are too many choices of groups (2^16 a step,
/// 2^28 looks at a number in all), the largest k' that was looked at counts, and `limited_by` says so. Cancelled.
[[nodiscard]] Result<LiveOutcome> certify_decoding(const DecodingEvidence& evidence, std::int64_t vocabulary,
                                                   const LiveSetting& setting, const std::stop_token& stop = {});

}  // namespace casemate
