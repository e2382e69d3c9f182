// casemate/generate/keyword_threshold.h
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "casemate/core/decimal.h"

namespace casemate {

/// mu = min(alpha * n, beta): how many groups must use a keyword (RobustRAG, algorithm 1).
struct KeywordThreshold {
  Decimal alpha = *Decimal::parse("0.3");  ///< share of the groups that answer; in (0, 1]
  Decimal beta = *Decimal::parse("3");     ///< most that is ever asked for; >= 1

  /// Error: InvalidOption for values out of range.
  [[nodiscard]] static Result<KeywordThreshold> create(Decimal alpha, Decimal beta);
  /// The least count that passes with `answering` groups: the ceiling of mu, at least 1.
  [[nodiscard]] std::int64_t least_count(std::int64_t answering) const noexcept;
};

/// How many sets hold each keyword.
[[nodiscard]] std::map<std::string, int> count_keywords(std::span<const std::set<std::string>> sets);

/// Puts hints into the order in which a prompt lists them: longest (in code points) first, equal lengths by text
/// descending.
void order_hints(std::vector<std::string>& hints);

/// Keywords with at least `least_count`, in the order of `order_hints`.
[[nodiscard]] std::vector<std::string> keep_keywords(const std::map<std::string, int>& counts,
                                                     std::int64_t least_count);

}  // namespace casemate
