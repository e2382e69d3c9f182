#include "eval/paraphrase_figures.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/temporary_folder.h"

namespace casemate {
namespace {

using nlohmann::json;

json record(const std::string& id, const std::string& query, double semantic, double copying, bool copies_run = false,
            bool fell_back = false) {
  return {{"id", id},
          {"target_queries", {query}},
          {"fell_back", fell_back},
          {"rewards_before", {{"semantic", 1.0}, {"retrieval", 0.25}, {"copying", 0.0}}},
          {"rewards_after", {{"semantic", semantic}, {"retrieval", 0.5}, {"copying", copying}}},
          {"copies_run", copies_run},
          {"judge", "tiny (cls)"}};
}

class ParaphraseFiguresTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::vector<json>& lines) {
    std::ofstream file(folder_.path(name));
    for (const json& line : lines) file << line.dump() << '\n';
    return folder_.path(name);
  }
  test::TemporaryFolder folder_;
};

TEST_F(ParaphraseFiguresTest, OnlyWhatIsAParaphraseOfAnAnsweredQueryCounts) {
  const std::string records =
      write("a.jsonl", {record("in1", "q", 0.6, 0.3), record("in2", "q", 0.9, 0.1), record("copies", "q", 0.9, 0.31),
                        record("other", "q", 0.59, 0.1), record("run", "q", 0.9, 0.1, true),
                        record("plain", "q", 0.9, 0.1, false, true), record("failed", "broken", 0.9, 0.1)});
  const std::string log = write("log.jsonl", {{{"query", "q"}, {"own_poison", {"in2", "copies", "run"}}},
                                              {{"query", "broken"}, {"error", "no"}}});
  const auto figures = read_paraphrase_figures(records, log);
  ASSERT_TRUE(figures.ok()) << figures.error().message;
  ASSERT_TRUE(*figures);
  EXPECT_EQ((*figures)->documents, 7U);
  EXPECT_EQ((*figures)->admitted, 2U);
  EXPECT_EQ((*figures)->found, 1U);
  EXPECT_NEAR((*figures)->before.retrieval, 0.25, 1e-12);
  EXPECT_NEAR((*figures)->after.semantic, (0.6 + 5 * 0.9 + 0.59) / 7, 1e-12);
  EvalSummary summary;
  summary.conditions.resize(1);
  summary.conditions[0].paraphrases = **figures;
  // Wilson's interval of one in two, as R's prop.test(1, 2, correct = FALSE) gives it.
  EXPECT_NE(paraphrase_table(summary).find("| 2 of 7 | 1 of 2: 0.500 [0.095, 0.905] | 1.000 / 0.250 / 0.000 |"),
            std::string::npos)
      << paraphrase_table(summary);
}

TEST_F(ParaphraseFiguresTest, RecordsOfOtherAttacksHaveNone) {
  const std::string records = write("a.jsonl", {{{"id", "x"}, {"fell_back", false}}});
  const auto figures = read_paraphrase_figures(records, write("log.jsonl", {}));
  ASSERT_TRUE(figures.ok());
  EXPECT_FALSE(*figures);
}

}  // namespace
}  // namespace casemate
