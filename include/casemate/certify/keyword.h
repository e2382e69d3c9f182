// casemate/certify/keyword.h
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "casemate/certify/outcome.h"
#include "casemate/generate/keyword_threshold.h"

namespace casemate {

/// The benign groups of one case that answer: each one's keywords, filtered as inference does (stop words, punctuation,
/// length), repeats do not count. Groups that abstain are left out; groups that are unstable under the slack count as
/// corrupted instead.
struct KeywordCase {
  std::vector<std::vector<std::string>> answering;
  std::int64_t corrupted_groups = 0;
};

/// Which hints the attacker can bring about: `certain` and any part of `possible`, all of them reachable.
struct KeywordReach {
  std::vector<std::string> certain;   ///< ascending by bytes
  std::vector<std::string> possible;  ///< ascending by bytes
  std::int64_t threshold = 0;         ///< where all corrupted groups answer
  bool attacker_words = false;        ///< words that no benign group says can become hints
  bool no_retrieval = false;          ///< the attacker can bring about that no group answers
};
/// Error: InvalidArgument for a negative number of groups.
[[nodiscard]] Result<KeywordReach> keyword_reach(const KeywordCase& benign, const KeywordThreshold& rule);

/// The second prompt's greedy answer to hints, which come ascending by bytes.
struct HintedAnswer {
  UntrustedText text;
  Billionths margin = kOne;  ///< least gap between the two likeliest tokens along it
};
using AnswerFromHints = std::function<Result<HintedAnswer>(std::span<const std::string> hints)>;
using ScoreAnswer = std::function<Result<double>(const UntrustedText& answer)>;

struct KeywordOptions {
  KeywordThreshold rule;
  Billionths epsilon = 1'000'000;     ///< certify_keyword takes that of its setting
  std::int64_t max_model_calls = 64;  ///< sets of hints that are tried; in [1, 2^14]
};

/// Certificate over a data set, one case. Not certified, with the reason: where attacker_words or no_retrieval, where
/// there are more sets than max_model_calls, or where a second prompt's margin is at most 2 epsilon.
/// Error: InvalidOption; what the callbacks say; Cancelled, after at most one more call of `answer`.
[[nodiscard]] Result<CaseOutcome> certify_keyword_case(const KeywordCase& benign, const KeywordOptions& options,
                                                       const AnswerFromHints& answer, const ScoreAnswer& score,
                                                       const std::stop_token& stop = {});

struct KeywordLiveOutcome {
  LiveOutcome live;
  std::vector<HintSet> hint_sets;  ///< for the certificate: every set that `live.k_prime` passages can bring about
  std::int64_t model_calls = 0;
};

/// The largest k' for which the emitted answer stays: as it is where the hints are forced, up to `normal_form` of
/// docs/certificates.md where other hints are answered alike. `emitted` has the hints that were used, their answer and
/// its margin. With an empty `answer` no second prompt is run, and the hints must be forced. `evidence.counts`, `kept`
/// and `hint_sets` are not looked at; alpha and beta are those of `options`. Exact but for max_model_calls, and where
/// there are too many choices of groups (2^16 a k', 2^24 looks at a word in all) the largest k' that was looked at
/// counts, and `limited_by` says so. Error:
/// InvalidOption; InvalidArgument for a number of groups that does not fit the setting, more than 64 groups, or words
/// that are not ascending; what the callback says; Cancelled, after at most one more call of it.
[[nodiscard]] Result<KeywordLiveOutcome> certify_keyword(std::span<const KeywordGroup> groups, const HintSet& emitted,
                                                         const KeywordOptions& options, const LiveSetting& setting,
                                                         const AnswerFromHints& answer = {},
                                                         const std::stop_token& stop = {});

/// The words that inference keeps of `groups`, ascending by bytes; nothing to do with certificates but for tests and
/// callers that need the same words. Unset where no group answers.
[[nodiscard]] std::optional<std::vector<std::string>> kept_keywords(std::span<const KeywordGroup> groups,
                                                                    const KeywordThreshold& rule);

}  // namespace casemate
