// The table of attack success by iterations, and an attack with gradients through the whole runner.
#include "eval/sweep_table.h"

#include <gtest/gtest.h>

namespace casemate {
namespace {

ConditionSummary condition(const std::string& attack, const std::string& defence, double asr, double similarity) {
  ConditionSummary out;
  out.condition = {attack, defence, 0, 0};
  out.queries = 20;
  out.similarity = similarity;
  MetricCell cell;
  cell.mean = asr;
  cell.interval = {asr / 2, (1 + asr) / 2};
  out.cells = {cell};
  return out;
}

TEST(IterationTables, OneAttackOfSeveralLengthsBecomesOneTableWithARowADefence) {
  EvalSummary summary;
  summary.metrics = {{EvalMeasure::kAsr, 5}};
  summary.conditions = {condition("hotflip{tokens: 30, iterations: 60}", "none", 0.9, 0.7),
                        condition("hotflip{tokens: 30, iterations: 60}", "ragmask", 0.1, 0.7),
                        condition("hotflip{tokens: 30, iterations: 10}", "none", 0.5, 0.4),
                        condition("hotflip{tokens: 30, iterations: 10}", "ragmask", 0.0, 0.4),
                        condition("query-as-poison", "none", 1, 0.6)};
  const std::string table = iteration_tables(summary);
  EXPECT_NE(table.find("asr@5 of hotflip{tokens: 30} by iterations"), std::string::npos) << table;
  EXPECT_NE(table.find("| defence | 10 | 60 |"), std::string::npos) << table;
  EXPECT_NE(table.find("| none | 50 [25, 75] | 90 [45, 95] |"), std::string::npos) << table;
  EXPECT_NE(table.find("| ragmask | 0 [0, 50] | 10 [5, 55] |"), std::string::npos) << table;
  EXPECT_NE(table.find("| 0.400 | 0.700 |"), std::string::npos) << table;
  EXPECT_EQ(table.find("query-as-poison"), std::string::npos);
}

TEST(IterationTables, OneLengthOrOtherOptionsMakeNone) {
  EvalSummary summary;
  summary.metrics = {{EvalMeasure::kAsr, 5}};
  summary.conditions = {condition("hotflip{iterations: 60}", "none", 0.9, 0.7),
                        condition("hotflip{tokens: 5, iterations: 10}", "none", 0.5, 0.4)};
  EXPECT_EQ(iteration_tables(summary), "");
  summary.conditions.push_back(condition("hotflip{iterations: 30}", "none", 0.5, 0.4));
  EXPECT_NE(iteration_tables(summary).find("asr@5 of hotflip by iterations"), std::string::npos);
}

}  // namespace
}  // namespace casemate
