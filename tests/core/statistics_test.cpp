#include "casemate/core/statistics.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/paths.h"

namespace casemate {
namespace {

using Json = nlohmann::json;

const Json& golden() {
  static const Json all = Json::parse(std::ifstream(test::golden_path("statistics.json")));
  return all;
}

void expect_near(double ours, double theirs, const Json& where) {
  EXPECT_NEAR(ours, theirs, theirs < 1e-3 ? std::min(1e-9, theirs * 1e-7) : 1e-9) << where;
}

TEST(Statistics, McNemarIsStatsmodels) {
  ASSERT_EQ(golden().at("mcnemar").size(), 12U);
  for (const Json& each : golden().at("mcnemar")) {
    const McNemar found = mcnemar(each.at("b").get<std::uint64_t>(), each.at("c").get<std::uint64_t>());
    expect_near(found.exact_p, each.at("exact_p").get<double>(), each);
    EXPECT_EQ(found.corrected_p.has_value(), !each.at("chi2_cc_p").is_null()) << each;
    if (!found.corrected_p) continue;
    expect_near(*found.corrected_statistic, each.at("chi2_cc_statistic").get<double>(), each);
    expect_near(*found.corrected_p, each.at("chi2_cc_p").get<double>(), each);
  }
}

TEST(Statistics, PercentilesAreValuesThatAreThere) {
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(percentile({3}, 0.95), 3);
  EXPECT_EQ(percentile({4, 1, 3, 2}, 0.5), 2);
  EXPECT_EQ(percentile({4, 1, 3, 2}, 0), 1);
  EXPECT_EQ(percentile({4, 1, 3, 2}, 1), 4);
}

TEST(Statistics, WilsonsIntervalIsStatsmodels) {
  for (const Json& each : golden().at("wilson_95")) {
    const auto found = wilson_interval(each.at("k").get<std::uint64_t>(), each.at("n").get<std::uint64_t>());
    ASSERT_EQ(found.has_value(), !each.at("low").is_null()) << each;
    if (!found) continue;
    EXPECT_NEAR(found->low, each.at("low").get<double>(), 1e-9) << each;
    EXPECT_NEAR(found->high, each.at("high").get<double>(), 1e-9) << each;
  }
}

TEST(Statistics, HolmAndBenjaminiHochbergAreStatsmodels) {
  for (const Json& each : golden().at("multiple_testing")) {
    const auto p = each.at("p").get<std::vector<double>>();
    const auto family = each.at("holm").get<std::vector<double>>();
    const auto discovery = each.at("benjamini_hochberg").get<std::vector<double>>();
    for (std::size_t i = 0; i < p.size(); ++i) {
      EXPECT_NEAR(holm(p)[i], family[i], 1e-9) << each;
      EXPECT_NEAR(benjamini_hochberg(p)[i], discovery[i], 1e-9) << each;
    }
  }
  EXPECT_TRUE(holm({}).empty());
}

TEST(PairedBootstrap, CoversTheTrueDifferenceAboutNineteenTimesInTwenty) {
  std::uint32_t state = 1;
  const auto uniform = [&state] {
    state = state * 1664525U + 1013904223U;
    return static_cast<double>(state >> 8U) / 16777216.0;
  };
  int covered = 0;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> first;
    std::vector<double> second;
    for (int i = 0; i < 60; ++i) {
      first.push_back(uniform());
      second.push_back(first.back() + 0.3 + uniform() - 0.5);  // true difference 0.3
    }
    const auto found = paired_bootstrap(first, second, 400, static_cast<std::uint64_t>(round));
    ASSERT_TRUE(found.ok());
    covered += (*found)->interval.low <= 0.3 && 0.3 <= (*found)->interval.high ? 1 : 0;
  }
  EXPECT_GE(covered, 176);  // binomial(200, 0.95) is below 176 once in 10,000
}

TEST(PairedBootstrap, IsTheSameForTheSameSeedAndSeesNoDifferenceBetweenEquals) {
  const std::vector<double> a = {1, 2, 3, 4, 5, 6};
  const std::vector<double> b = {1.5, 2, 3.25, 4, 5.5, 6};
  EXPECT_EQ((*paired_bootstrap(a, b, 1000, 3))->interval.low, (*paired_bootstrap(a, b, 1000, 3))->interval.low);
  EXPECT_EQ((*paired_bootstrap(a, a, 1000, 3))->p, 1.0);
  EXPECT_NEAR((*paired_bootstrap(a, b, 1000, 3))->mean, 1.25 / 6, 1e-12);
}

TEST(PairedBootstrap, RefusesBadInput) {
  const std::vector<double> one = {1};
  const std::vector<double> nan = {std::numeric_limits<double>::quiet_NaN()};
  EXPECT_FALSE(paired_bootstrap(one, {}, 1000, 0).ok());
  EXPECT_FALSE(paired_bootstrap(one, nan, 1000, 0).ok());
  EXPECT_FALSE(paired_bootstrap(one, one, 10, 0).ok());
  EXPECT_FALSE(paired_bootstrap({}, {}, 1000, 0)->has_value());
}

}  // namespace
}  // namespace casemate
