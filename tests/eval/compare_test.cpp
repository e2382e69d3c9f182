#include "casemate/eval/compare.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temporary_folder.h"

namespace casemate {
namespace {

TEST(Compare, BinaryMetricsAreTestedByMcNemar) {
  // 6 queries lost, none won: exact two-sided p = 2 / 2^6.
  std::vector<double> first(20, 1.0);
  std::vector<double> second = first;
  std::fill(second.begin(), second.begin() + 6, 0.0);
  const auto compared = compare_paired(first, second);
  ASSERT_TRUE(compared.ok()) << compared.error().message;
  EXPECT_TRUE(compared->binary);
  EXPECT_EQ(compared->only_first, 6U);
  EXPECT_EQ(compared->only_second, 0U);
  EXPECT_NEAR(compared->p, 0.03125, 1e-12);
  EXPECT_NEAR(compared->difference, -0.3, 1e-12);
  EXPECT_LT(compared->interval.high, 0);
}

TEST(Compare, GradedMetricsAreTestedByThePairedBootstrap) {
  const std::vector<double> first = {0.5, 0.2, 1.0, 0.25};
  const auto same = compare_paired(first, first);
  ASSERT_TRUE(same.ok());
  EXPECT_FALSE(same->binary);
  EXPECT_EQ(same->discordant(), 0U);
  EXPECT_EQ(same->p, 1);
  const std::vector<double> none;
  EXPECT_FALSE(compare_paired(none, none).ok());
  EXPECT_FALSE(compare_paired(first, std::vector<double>{1.0}).ok());
}

class CompareLogs : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path(name)) << text;
    return folder_.path(name);
  }
  test::TemporaryFolder folder_;
};

TEST_F(CompareLogs, JoinsByQueryAndCountsWhatIsInOneAlone) {
  const auto a = read_per_query(
      write("a",
            "{\"query\":\"q1\",\"metrics\":{\"hit\":1}}\n{\"id\":\"q2\",\"hit\":true}\n{\"query\":\"q3\",\"hit\":0.5}"),
      "hit");
  const auto b = read_per_query(write("b", "{\"query\":\"q2\",\"hit\":0}\n{\"query\":\"q9\",\"hit\":1}"), "hit");
  ASSERT_TRUE(a.ok()) << a.error().message;
  ASSERT_TRUE(b.ok()) << b.error().message;
  const JoinedLogs joined = join_logs(*a, *b);
  EXPECT_EQ(joined.queries, std::vector<std::string>{"q2"});
  EXPECT_EQ(joined.first, std::vector<double>{1});
  EXPECT_EQ(joined.only_in_first, 2U);
  EXPECT_EQ(joined.only_in_second, 1U);
}

TEST_F(CompareLogs, AMisspeltMetricAndARepeatedQueryAreErrorsWithTheLine) {
  const std::string log = write("a", "{\"query\":\"q1\",\"recall@5\":1}\n{\"query\":\"q1\",\"recall@5\":1}\n");
  const auto misspelt = read_per_query(log, "recal@5");
  ASSERT_FALSE(misspelt.ok());
  EXPECT_NE(misspelt.error().message.find(":1: there is no number \"recal@5\" (did you mean \"recall@5\"?)"),
            std::string::npos)
      << misspelt.error().message;
  const auto twice = read_per_query(log, "recall@5");
  ASSERT_FALSE(twice.ok());
  EXPECT_NE(twice.error().message.find(":2: query \"q1\" stands twice"), std::string::npos);
}

TEST_F(CompareLogs, RankingsAgreeInOrderOrInPassagesAlone) {
  const std::string first = write("a",
                                  "{\"query\":\"same\",\"hits\":[[\"x\",2],[\"y\",1]]}\n"
                                  "{\"query\":\"turned\",\"hits\":[[\"x\",2],[\"y\",1]]}\n"
                                  "{\"query\":\"half\",\"hits\":[[\"x\",2],[\"y\",1]]}\n"
                                  "{\"query\":\"none\",\"hits\":[]}\n"
                                  "{\"query\":\"gone\",\"hits\":[]}\n");
  const std::string second = write("b",
                                   "{\"query\":\"none\",\"hits\":[]}\n"
                                   "{\"query\":\"half\",\"hits\":[[\"x\",9],[\"z\",1]]}\n"
                                   "{\"query\":\"turned\",\"hits\":[[\"y\",2],[\"x\",1]]}\n"
                                   "{\"query\":\"same\",\"hits\":[[\"x\",0.5],[\"y\",0.25]]}\n");
  const auto agreement = compare_rankings(first, second);
  ASSERT_TRUE(agreement.ok()) << agreement.error().message;
  EXPECT_EQ(agreement->queries, 4U);
  EXPECT_EQ(agreement->same_order, 2U);  // "same" and "none"
  EXPECT_EQ(agreement->same_ids, 3U);
  EXPECT_NEAR(agreement->shared, (1 + 1 + 1.0 / 3 + 1) / 4, 1e-12);
  EXPECT_EQ(agreement->only_in_first, 1U);
  EXPECT_EQ(agreement->only_in_second, 0U);
  const auto broken = compare_rankings(first, write("c", "{\"query\":\"same\",\"hits\":[7]}\n"));
  EXPECT_NE(broken.error().message.find(":1: a hit is not [id, score]"), std::string::npos) << broken.error().message;
}

}  // namespace
}  // namespace casemate
