// casemate/attack/query_noise.h
#pragma once

#include <memory>

#include "casemate/attack/attack.h"

namespace casemate {

struct QueryNoiseOptions {
  double sigma = 0.1;  ///< standard deviation of each dimension's noise; in [0, 10]
};

/// Adds Gaussian noise to a query's embedding and gives it its norm back; the corpus stays as it is. The expected norm
/// of the noise is sigma times the square root of the dimension: 1.96 for sigma 0.1 and 384 dimensions, about twice
/// that of a unit embedding. Queries with the same text get the same noise.
class QueryNoise final : public Attack {
 public:
  /// Error: InvalidOption.
  [[nodiscard]] static Result<std::unique_ptr<QueryNoise>> create(const QueryNoiseOptions& options);

  [[nodiscard]] std::string_view name() const noexcept override { return "query-noise"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> parameters() const override;
  [[nodiscard]] Result<CraftedAttack> craft(const AttackInput& input, std::stop_token stop) const override;
  [[nodiscard]] bool disturbs_queries() const noexcept override { return true; }
  void disturb(std::string_view query, std::uint64_t seed, std::span<float> embedding) const override;

 private:
  explicit QueryNoise(const QueryNoiseOptions& options) : options_(options) {}
  QueryNoiseOptions options_;
};

}  // namespace casemate
