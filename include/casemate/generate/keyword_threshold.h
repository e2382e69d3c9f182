// casemate/generate/keyword_threshold.h
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"

namespace casemate {

/// A decimal number as an exact fraction: thresholds compare integers, since 0.07 * 100 is more than 7 in doubles.
struct Decimal {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;  ///< a power of ten

  /// Reads "0.3". Error: InvalidArgument where it is no plain decimal of at most 9 digits after the point.
  [[nodiscard]] static Result<Decimal> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;
  [[nodiscard]] double value() const noexcept {
    return static_cast<double>(numerator) / static_cast<double>(denominator);
  }
  friend bool operator==(const Decimal&, const Decimal&) = default;
};

/// mu = min(alpha * n, beta): how many groups must use a keyword (RobustRAG, algorithm 1).
struct KeywordThreshold {
  Decimal alpha{3, 10};  ///< share of the groups that answer; in (0, 1]
  int beta = 3;          ///< most that is ever asked for; >= 1

  /// The least count that passes with `answering` groups: the ceiling of mu, at least 1.
  [[nodiscard]] int least_count(int answering) const noexcept;
};

/// How many sets hold each keyword.
[[nodiscard]] std::map<std::string, int> count_keywords(std::span<const std::set<std::string>> sets);

/// Keywords with at least `least_count`, longest (in code points) first, equal lengths by text descending.
[[nodiscard]] std::vector<std::string> keep_keywords(const std::map<std::string, int>& counts, int least_count);

}  // namespace casemate
