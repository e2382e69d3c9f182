// Ranking metrics against tests/golden/ranking_metrics.json (ir-measures and pytrec_eval).
#include "casemate/eval/ranking_metrics.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/paths.h"

namespace casemate {
namespace {

using Json = nlohmann::json;
constexpr double kTolerance = 1e-9;

const Json& golden() {
  static const Json all = Json::parse(std::ifstream(test::golden_path("ranking_metrics.json")));
  return all;
}

Qrels qrels_of(const Json& test_case) {
  Qrels out;
  for (const auto& [query, judged] : test_case.at("qrels").items())
    for (const auto& [id, grade] : judged.items()) out[query][id] = grade.get<int>();
  return out;
}

RetrievalRun run_of(const Json& test_case) {
  RetrievalRun out;
  for (const auto& [query, scored] : test_case.at("run").items()) {
    out[query];
    for (const auto& [id, score] : scored.items()) out[query][id] = score.get<double>();
  }
  return out;
}

/// The file's metrics, but for those of another provider with another tie rule.
std::vector<std::string> names_of(const Json& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values.items())
    if (!name.starts_with("RR_msmarco")) names.push_back(name);
  return names;
}

TEST(RankingMetrics, EveryGoldenValueIsReached) {
  ASSERT_EQ(golden().at("cases").size(), 16U);
  std::size_t compared = 0;
  for (const Json& test_case : golden().at("cases")) {
    std::vector<RankingMetric> metrics;
    const auto names = names_of(test_case.at("aggregate_all_qrels_queries"));
    for (const std::string& name : names) {
      const auto metric = parse_ranking_metric(name);
      ASSERT_TRUE(metric.ok()) << metric.error().message;
      EXPECT_EQ(ranking_metric_name(*metric), name);
      metrics.push_back(*metric);
    }
    const RankingScores scores = score_run(qrels_of(test_case), run_of(test_case), metrics);
    for (std::size_t m = 0; m < names.size(); ++m) {
      EXPECT_NEAR(scores.mean[m], test_case.at("aggregate_all_qrels_queries").at(names[m]).get<double>(), kTolerance)
          << test_case.at("id") << names[m];
      EXPECT_NEAR(scores.mean_of_run[m], test_case.at("aggregate_trec_eval_default").at(names[m]).get<double>(),
                  kTolerance)
          << test_case.at("id") << names[m];
    }
    for (const auto& [query, values] : test_case.at("per_query").items()) {
      const auto& ours = scores.per_query.at(query);
      for (std::size_t m = 0; m < names.size(); ++m, ++compared) {
        EXPECT_NEAR(ours[m], values.at(names[m]).get<double>(), kTolerance) << test_case.at("id") << query << names[m];
      }
    }
  }
  EXPECT_GT(compared, 500U);
}

TEST(RankingMetrics, RankingsAreThoseOfTrecEval) {
  for (const Json& test_case : golden().at("cases")) {
    for (const auto& [query, scored] : run_of(test_case))
      EXPECT_EQ(trec_order(scored), test_case.at("ranking_trec_eval").at(query).get<std::vector<std::string>>())
          << test_case.at("id") << query;
  }
}

TEST(RankingMetrics, MissingAndUnjudgedQueriesAreCounted) {
  const auto scores = score_run({{"a", {{"x", 1}}}, {"b", {{"x", 1}}}}, {{"a", {{"x", 1.0}}}, {"z", {{"x", 1.0}}}},
                                default_ranking_metrics());
  EXPECT_EQ(scores.missing, 1U);
  EXPECT_EQ(scores.unjudged, 1U);
}

TEST(RankingMetrics, NamesThatAreNoMetricAreRefused) {
  for (const char* name : {"P", "R@0", "R@", "R@5x", "R@-1", "recall@5", "", "@5", "Success", "nDCG@ 5"})
    EXPECT_FALSE(parse_ranking_metric(name).ok()) << name;
}

}  // namespace
}  // namespace casemate
