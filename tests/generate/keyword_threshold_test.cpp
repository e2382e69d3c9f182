#include "casemate/generate/keyword_threshold.h"

#include <gtest/gtest.h>

namespace casemate {
namespace {

using Sets = std::vector<std::set<std::string>>;
using Strings = std::vector<std::string>;

KeywordThreshold threshold(const char* alpha, const char* beta) {
  return {Decimal::parse(alpha).value(), Decimal::parse(beta).value()};
}

// The threshold is min(alpha n, beta), and a count that equals it passes. 0.07 * 100 is more than 7 in doubles.
TEST(KeywordThreshold, ComparesIntegersWhereDoublesWouldBeWrong) {
  EXPECT_GT(0.07 * 100, 7.0);
  EXPECT_EQ(threshold("0.07", "50").least_count(100), 7);
  EXPECT_EQ(threshold("0.3", "3").least_count(10), 3);
  EXPECT_EQ(threshold("0.3", "3").least_count(7), 3);    // 2.1
  EXPECT_EQ(threshold("0.3", "3").least_count(6), 2);    // 1.8
  EXPECT_EQ(threshold("0.3", "3").least_count(100), 3);  // beta
  EXPECT_EQ(threshold("0.3", "3").least_count(0), 1);
  EXPECT_EQ(threshold("0.9", "2.5").least_count(100), 3);  // the ceiling of beta
}

TEST(CountKeywords, CountsAKeywordOnceASet) {
  const auto counts = count_keywords(Sets{{"a", "b"}, {"b"}, {}});
  EXPECT_EQ(counts, (std::map<std::string, int>{{"a", 1}, {"b", 2}}));
  EXPECT_TRUE(count_keywords({}).empty());
}

TEST(KeepKeywords, OrdersByLengthInCharactersThenTextDescending) {
  const std::map<std::string, int> counts = {
      {"ab", 3}, {"zz", 3}, {"\xC3\xA9\xC3\xA9", 3}, {"long one", 2}, {"rare", 1}};
  EXPECT_EQ(keep_keywords(counts, 2), (Strings{"long one", "\xC3\xA9\xC3\xA9", "zz", "ab"}));
  EXPECT_EQ(keep_keywords(counts, 4), Strings{});
}

}  // namespace
}  // namespace casemate
