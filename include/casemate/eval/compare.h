// casemate/eval/compare.h
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/statistics.h"
#include "casemate/core/status.h"

namespace casemate {

/// Two systems over the same queries.
struct Comparison {
  std::size_t queries = 0;
  double first = 0;               ///< mean
  double second = 0;              ///< mean
  double difference = 0;          ///< second - first
  Interval interval;              ///< 95 % of the difference, paired bootstrap
  double p = 1;                   ///< McNemar's exact test where every value is 0 or 1, else the paired bootstrap's
  bool binary = false;            ///< every value is 0 or 1
  std::uint64_t only_first = 0;   ///< queries with 1 under the first alone; of a graded metric: those that fell
  std::uint64_t only_second = 0;  ///< queries with 1 under the second alone; of a graded metric: those that rose
  [[nodiscard]] std::uint64_t discordant() const { return only_first + only_second; }
};

/// Resamples that eval and metrics draw: 10,000, fewer above 2,000 queries, never fewer than 1,000.
[[nodiscard]] int bootstrap_resamples(std::size_t queries);

/// `first` and `second` are values of the same queries in the same order. The seed is the bootstrap's.
/// Error: InvalidArgument for different lengths, no query, or values that are not finite.
[[nodiscard]] Result<Comparison> compare_paired(std::span<const double> first, std::span<const double> second,
                                                std::uint64_t seed = 0);

/// Values of one metric by query id.
using PerQuery = std::map<std::string, double, std::less<>>;

/// Reads `metric` of a per-query log: JSON lines with "query" (or "id") and the metric by name, at the top or inside
/// "metrics"; true and false count as 1 and 0. Error: InvalidInput with path and line where a query stands twice or has
/// no such number (names the nearest metric that it has); NotFound, Io, Limit.
[[nodiscard]] Result<PerQuery> read_per_query(const std::string& path, std::string_view metric);

struct JoinedLogs {
  std::vector<std::string> queries;  ///< in both, in order of id
  std::vector<double> first;
  std::vector<double> second;
  std::size_t only_in_first = 0;
  std::size_t only_in_second = 0;
};
[[nodiscard]] JoinedLogs join_logs(const PerQuery& first, const PerQuery& second);

/// How far two systems found the same passages for the same queries.
struct RankingAgreement {
  std::size_t queries = 0;     ///< in both logs
  std::size_t same_order = 0;  ///< the same ids at the same ranks
  std::size_t same_ids = 0;    ///< the same ids at any ranks
  double shared = 0;           ///< mean over queries of |ids of both| / |ids of either|; 1 where both found nothing
  std::size_t only_in_first = 0;
  std::size_t only_in_second = 0;
};

/// Compares the "hits" ([[id, score], ...], best first) of two per-query logs as `eval` writes them. Error: as
/// `read_per_query`.
[[nodiscard]] Result<RankingAgreement> compare_rankings(const std::string& first, const std::string& second);

}  // namespace casemate
