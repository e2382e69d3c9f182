#include "casemate/core/statistics.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/chi_squared.hpp>
#include <cassert>
#include <cmath>
#include <numeric>

#include "casemate/core/random.h"

namespace casemate {
namespace {

constexpr double kNormal95 = 1.959963984540054;  ///< 97.5 % point of the normal distribution

std::vector<std::size_t> ascending(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  return order;
}

}  // namespace

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + rank, values.end());
  return values[static_cast<std::size_t>(rank)];
}

std::optional<Interval> wilson_interval(std::uint64_t successes, std::uint64_t trials) {
  assert(successes <= trials);
  if (trials == 0) return std::nullopt;
  const auto n = static_cast<double>(trials);
  const double rate = static_cast<double>(successes) / n;
  const double z2 = kNormal95 * kNormal95;
  const double centre = (rate + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kNormal95 * std::sqrt(rate * (1 - rate) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  Interval out{std::max(0.0, centre - half), std::min(1.0, centre + half)};
  if (successes == 0) out.low = 0;
  if (successes == trials) out.high = 1;
  return out;
}

McNemar mcnemar(std::uint64_t only_first, std::uint64_t only_second) {
  McNemar out;
  out.discordant = only_first + only_second;
  if (out.discordant == 0) return out;
  const auto n = static_cast<double>(out.discordant);
  const auto least = static_cast<double>(std::min(only_first, only_second));
  out.exact_p = std::min(1.0, 2 * boost::math::cdf(boost::math::binomial_distribution<double>(n, 0.5), least));
  const double difference = std::abs(static_cast<double>(only_first) - static_cast<double>(only_second)) - 1;
  out.corrected_statistic = difference * difference / n;
  out.corrected_p = boost::math::cdf(
      boost::math::complement(boost::math::chi_squared_distribution<double>(1), *out.corrected_statistic));
  return out;
}

std::vector<double> holm(std::span<const double> p) {
  std::vector<double> out(p.size());
  double largest = 0;
  const std::vector<std::size_t> order = ascending(p);
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    largest = std::max(largest, static_cast<double>(p.size() - rank) * p[order[rank]]);
    out[order[rank]] = std::min(1.0, largest);
  }
  return out;
}

std::vector<double> benjamini_hochberg(std::span<const double> p) {
  std::vector<double> out(p.size());
  double least = 1;
  const std::vector<std::size_t> order = ascending(p);
  for (std::size_t rank = order.size(); rank-- > 0;) {
    least = std::min(least, p[order[rank]] * static_cast<double>(p.size()) / static_cast<double>(rank + 1));
    out[order[rank]] = least;
  }
  return out;
}

Result<std::optional<PairedDifference>> paired_bootstrap(std::span<const double> first, std::span<const double> second,
                                                         int resamples, std::uint64_t seed) {
  if (first.size() != second.size())
    return Error{ErrorCode::kInvalidArgument, "a paired bootstrap needs two lists of the same length"};
  if (resamples < 100 || resamples > 1'000'000)
    return Error{ErrorCode::kInvalidArgument, "resamples must be in 100 to 1000000"};
  std::vector<double> differences;
  for (std::size_t i = 0; i < first.size(); ++i) {
    differences.push_back(second[i] - first[i]);
    if (!std::isfinite(differences.back()))
      return Error{ErrorCode::kInvalidArgument, "pair " + std::to_string(i) + " is not finite"};
  }
  if (differences.empty()) return std::optional<PairedDifference>();
  const std::size_t n = differences.size();
  RandomStream random(seed, "statistics/bootstrap");
  std::vector<double> means;
  means.reserve(static_cast<std::size_t>(resamples));
  for (int round = 0; round < resamples; ++round) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += differences[random.below(n)];
    means.push_back(sum / static_cast<double>(n));
  }
  std::sort(means.begin(), means.end());
  PairedDifference out;
  out.pairs = n;
  out.mean = std::accumulate(differences.begin(), differences.end(), 0.0) / static_cast<double>(n);
  const auto at = [&](double share) {
    return means[static_cast<std::size_t>(share * static_cast<double>(means.size() - 1))];
  };
  out.interval = {at(0.025), at(0.975)};
  const auto below = static_cast<double>(std::count_if(means.begin(), means.end(), [](double m) { return m <= 0; }));
  const auto above = static_cast<double>(std::count_if(means.begin(), means.end(), [](double m) { return m >= 0; }));
  out.p = std::min(1.0, 2 * std::min(below, above) / static_cast<double>(means.size()));
  return std::optional<PairedDifference>(out);
}

}  // namespace casemate
