#include "casemate/eval/trec.h"

#include <gtest/gtest.h>

namespace casemate {
namespace {

std::string error_of(const auto& result) { return result.ok() ? "" : result.error().message; }

TEST(Trec, ReadsQrelsWithBlanksTabsAndWindowsLineEnds) {
  const auto qrels = parse_qrels("\xEF\xBB\xBFq1 0 d1 2\r\n\r\nq1\t0\td2\t-1\nq2 0 d1 +1", "q.txt");
  ASSERT_TRUE(qrels.ok()) << qrels.error().message;
  EXPECT_EQ(*qrels, (Qrels{{"q1", {{"d1", 2}, {"d2", -1}}}, {"q2", {{"d1", 1}}}}));
}

TEST(Trec, ReadsBeirsQrels) {
  const auto qrels = parse_qrels("query-id\tcorpus-id\tscore\nq1\td1\t1\n", "test.tsv");
  ASSERT_TRUE(qrels.ok()) << qrels.error().message;
  EXPECT_EQ(*qrels, (Qrels{{"q1", {{"d1", 1}}}}));
}

TEST(Trec, ReadsRuns) {
  const auto run = parse_run("q1 Q0 d1 1 0.5 tag\nq1 Q0 d2 2 -1e-3 tag\n", "r.txt");
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(*run, (RetrievalRun{{"q1", {{"d1", 0.5}, {"d2", -0.001}}}}));
}

TEST(Trec, ErrorsNameFileAndLine) {
  EXPECT_TRUE(error_of(parse_qrels("q1 0 d1 1\nq1 0 d2\n", "q.txt")).starts_with("q.txt:2: expected 4 fields"));
  EXPECT_TRUE(error_of(parse_qrels("q1 0 d1 1.5\n", "q.txt")).starts_with("q.txt:1: the grade \"1.5\""));
  EXPECT_TRUE(error_of(parse_qrels("q1 0 d1 1\n\nq1 0 d1 1\n", "q.txt")).starts_with("q.txt:3: query \"q1\""));
  EXPECT_TRUE(error_of(parse_qrels("", "q.txt")).starts_with("q.txt: holds no judgement"));
  EXPECT_TRUE(error_of(parse_run("q1 Q0 d1 1 nan t\n", "r.txt")).starts_with("r.txt:1: the score"));
  EXPECT_TRUE(error_of(parse_run("q1 Q0 d1 1 inf t\n", "r.txt")).starts_with("r.txt:1: the score"));
  EXPECT_TRUE(error_of(parse_run("q1 Q0 d1 1 0.5\n", "r.txt")).starts_with("r.txt:1: expected 6 fields"));
  EXPECT_TRUE(error_of(parse_run("q1 Q0 d\xFF 1 0.5 t\n", "r.txt")).starts_with("r.txt:1: the line is not valid"));
  EXPECT_EQ(read_run("/nonexistent/run").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace casemate
