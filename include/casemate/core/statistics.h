// casemate/core/statistics.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "casemate/core/status.h"

namespace casemate {

/// [low, high], both inclusive.
struct Interval {
  double low = 0;
  double high = 0;
};

/// The value at rank floor(share * (n - 1)) from 0 of `values` in ascending order: at most what the exact quantile is.
/// 0 of none. `share` in [0, 1]; values are finite.
[[nodiscard]] double percentile(std::vector<double> values, double share);

/// Wilson's 95 % score interval of a rate of `successes` in `trials`; nothing where there was no trial.
/// `successes` <= `trials`.
[[nodiscard]] std::optional<Interval> wilson_interval(std::uint64_t successes, std::uint64_t trials);

/// McNemar's test of two systems over the same queries. `only_first` queries are right under the first alone,
/// `only_second` under the second alone; the rest is not needed.
struct McNemar {
  std::uint64_t discordant = 0;
  double exact_p = 1;  ///< two-sided binomial, 1 without discordant pairs
  /// Chi-square with continuity correction, not clamped, and its p; nothing without discordant pairs, where it is
  /// undefined.
  std::optional<double> corrected_statistic;
  std::optional<double> corrected_p;
};
[[nodiscard]] McNemar mcnemar(std::uint64_t only_first, std::uint64_t only_second);

/// Adjusted p values, in the order given; each in [0, 1]. p values that are not in [0, 1] are an error of the program.
[[nodiscard]] std::vector<double> holm(std::span<const double> p);                ///< family-wise error rate
[[nodiscard]] std::vector<double> benjamini_hochberg(std::span<const double> p);  ///< false discovery rate

struct PairedDifference {
  double mean = 0;    ///< of second - first
  Interval interval;  ///< 95 % percentile bootstrap over pairs
  double p = 1;       ///< two-sided: share of resampled means on the other side of 0, doubled
  std::size_t pairs = 0;
};

/// Paired bootstrap of the mean difference. `first` and `second` have the same length; the same seed gives the same
/// result. Nothing for no pairs. Error: InvalidArgument for different lengths, a value that is not finite, or
/// `resamples` outside [100, 1000000].
[[nodiscard]] Result<std::optional<PairedDifference>> paired_bootstrap(std::span<const double> first,
                                                                       std::span<const double> second,
                                                                       int resamples = 10'000, std::uint64_t seed = 0);

}  // namespace casemate
