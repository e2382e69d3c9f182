#include "casemate/defend/ragpart_theory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace casemate {
namespace {

nlohmann::json golden() {
  std::ifstream file(std::string(CASEMATE_SOURCE_DIR) + "/tests/golden/combinatorics.json");
  return nlohmann::json::parse(file);
}

TEST(RagPartTheory, EqualsEveryRowOfTheGoldenFile) {
  const nlohmann::json file = golden();
  ASSERT_EQ(file["rows"].size(), 351U);
  int equal_sides = 0;
  for (const auto& row : file["rows"]) {
    for (const int adversaries : {1, 2, 3}) {
      const auto found = ragpart_condition(row["N"], row["k"], row["n_p"], adversaries);
      ASSERT_TRUE(found.ok()) << found.error().message;
      const std::string key = std::to_string(adversaries);
      EXPECT_EQ(found->combinations, row["total"].get<std::uint64_t>()) << row;
      EXPECT_EQ(found->x_naive, row["x_naive"].get<std::uint64_t>()) << row;
      EXPECT_EQ(found->x_ragpart, row["x_ragpart"].get<std::uint64_t>()) << row;
      EXPECT_EQ(found->robust_naive, row["naive_holds"][key].get<bool>()) << row << " n_a " << adversaries;
      EXPECT_EQ(found->robust_ragpart, row["ragpart_holds"][key].get<bool>()) << row << " n_a " << adversaries;
      equal_sides += row["naive_equal"][key].get<bool>() ? 1 : 0;
      equal_sides += row["ragpart_equal"][key].get<bool>() ? 1 : 0;
    }
  }
  EXPECT_EQ(equal_sides, 30);  // conditions that fail only because the inequality is strict
}

/// Mixes of k of n fragments with at least `least` of the first n_p.
std::uint64_t enumerate(int n, int k, int n_p, int least) {
  std::uint64_t count = 0;
  for (unsigned mix = 0; mix < (1U << static_cast<unsigned>(n)); ++mix) {
    if (__builtin_popcount(mix) != k) continue;
    count += __builtin_popcount(mix & ((1U << static_cast<unsigned>(n_p)) - 1U)) >= least ? 1U : 0U;
  }
  return count;
}

TEST(RagPartTheory, CountsMixesAsEnumerationDoes) {
  for (int n = 1; n <= 12; ++n) {
    for (int k = 1; k <= n; ++k) {
      for (int n_p = 0; n_p <= n; ++n_p) {
        const auto found = ragpart_condition(n, k, n_p, 1);
        ASSERT_TRUE(found.ok());
        EXPECT_EQ(found->combinations, enumerate(n, k, n_p, 0));
        EXPECT_EQ(found->x_naive, enumerate(n, k, n_p, 1)) << n << ' ' << k << ' ' << n_p;
        EXPECT_EQ(found->x_ragpart, enumerate(n, k, n_p, 2)) << n << ' ' << k << ' ' << n_p;
      }
    }
  }
}

TEST(RagPartTheory, HoldsLargeNumbersExactly) {
  EXPECT_EQ(*binomial(64, 32), 1832624140942590534U);
  // Pascal's rule, up to the largest.
  for (int n = 1; n <= 64; ++n) {
    for (int k = 0; k <= n; ++k) EXPECT_EQ(*binomial(n, k), *binomial(n - 1, k - 1) + *binomial(n - 1, k));
  }
  // 2 (n_a + 1) C passes 64 bits by far.
  const auto found = ragpart_condition(64, 32, 64, 1'000'000'000);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->x_ragpart, found->combinations);
  EXPECT_FALSE(found->robust_ragpart);
}

TEST(RagPartTheory, SaysWhichValueIsOutOfRange) {
  const auto message = [](const auto& result) { return result.ok() ? std::string() : result.error().message; };
  EXPECT_NE(message(ragpart_condition(65, 3, 2, 1)).find("N is 65"), std::string::npos);
  EXPECT_NE(message(ragpart_condition(5, 6, 2, 1)).find("k is 6"), std::string::npos);
  EXPECT_NE(message(ragpart_condition(5, 0, 2, 1)).find("k is 0"), std::string::npos);
  EXPECT_NE(message(ragpart_condition(5, 3, 6, 1)).find("n_p is 6"), std::string::npos);
  EXPECT_NE(message(ragpart_condition(5, 3, 2, 0)).find("n_a is 0"), std::string::npos);
  EXPECT_FALSE(binomial(65, 1).ok());
  EXPECT_FALSE(binomial(-1, 0).ok());
  EXPECT_EQ(*binomial(5, 6), 0U);
}

TEST(RagPartTheory, CostsWhatThePapersExampleCosts) {
  const auto cost = ragpart_cost(5, 3, 1e6, 1e9, 512);
  ASSERT_TRUE(cost.ok());
  EXPECT_DOUBLE_EQ(cost->naive_embedding, 3e16);
  EXPECT_DOUBLE_EQ(cost->ragpart_embedding, 5e15);
  EXPECT_DOUBLE_EQ(cost->naive_embedding / cost->ragpart_embedding, 6.0);  // "a factor of ~6"
  EXPECT_DOUBLE_EQ(cost->query_databases, 2.0 * 512 * 1e6 * 10);
  EXPECT_FALSE(ragpart_cost(5, 3, 0, 1e9, 512).ok());
  EXPECT_FALSE(ragpart_cost(5, 6, 1, 1e9, 512).ok());
}

}  // namespace
}  // namespace casemate
