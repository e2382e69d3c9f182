// Gates and what other programs are told about them. SARIF and JUnit are checked by tests/apps/gate_test.py too.
#include "casemate/eval/gate.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "casemate/eval/export.h"

namespace casemate {
namespace {

RunRecord small_run() {
  RunRecord run;
  run.name = "small & <odd>";
  run.kind = "ranking";
  run.metrics = {"recall@5", "asr@5", "asr@10"};
  run.attacks = {"none", "near-duplicate{rate: 0.05, edits: 1}"};
  run.defences = {"none", "ragpart{combination: 1}"};
  const double asr[] = {0, 0, .4, .04};
  for (std::size_t i = 0; i < 4; ++i) {
    RunCondition condition{
        run.attacks[i / 2], run.defences[i % 2], "queries/" + std::to_string(i) + ".jsonl", 100, 0, 0, {}};
    condition.figures["recall@5"] = {.8, Interval{.7, .9}, 100, true};
    condition.figures["asr@5"] = {asr[i], Interval{asr[i] / 2, asr[i] * 2}, 100, true};
    condition.figures["asr@10"] = {asr[i] + .01, std::nullopt, 100, false};
    run.conditions.push_back(condition);
  }
  return run;
}

std::vector<GateResult> ask(const RunRecord& run, const std::vector<std::string>& texts,
                            std::vector<Gate>* kept = nullptr) {
  std::vector<Gate> gates;
  for (const std::string& text : texts) {
    auto gate = parse_gate(text);
    EXPECT_TRUE(gate.ok()) << gate.error().message;
    gates.push_back(*std::move(gate));
  }
  const auto results = ask_gates(run, gates);
  EXPECT_TRUE(results.ok()) << results.error().message;
  if (kept != nullptr) *kept = gates;
  return results.ok() ? *results : std::vector<GateResult>();
}

std::size_t failed(const std::vector<GateResult>& results) {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(), [](const GateResult& r) { return r.failed; }));
}

TEST(Gate, AreAskedOfEveryConditionThatTheirFiltersLetThrough) {
  const RunRecord run = small_run();
  EXPECT_EQ(ask(run, {"asr@5>0.05"}).size(), 4U);
  EXPECT_EQ(failed(ask(run, {"asr@5>0.05"})), 1U);
  EXPECT_EQ(failed(ask(run, {"asr > 0.05"})), 2U);  // at both depths: .4 and .41, while .05 is not above .05
  EXPECT_EQ(failed(ask(run, {"asr@5 > 0.05 where defence != none"})), 0U);
  EXPECT_EQ(failed(ask(run, {"high(asr@5) > 0.05 where defence = ragpart"})), 1U);  // .08
  EXPECT_EQ(failed(ask(run, {"asr@5 >= 0.04 where attack = near-duplicate{rate: 0.05, edits: 1}, defence != none"})),
            1U);
  EXPECT_EQ(failed(ask(run, {"recall@5 < 0.8"})), 0U);
  EXPECT_EQ(failed(ask(run, {"recall@5 <= 0.8"})), 4U);
  EXPECT_EQ(failed(ask(run, {"low(recall@5) < 0.75", "asr@5 > 0.9"})), 4U);
}

TEST(Gate, MisspeltOnesNameTheNearestAndNonePassesUnasked) {
  const RunRecord run = small_run();
  const auto error = [&run](const std::string& text) {
    const auto gate = parse_gate(text);
    if (!gate) return gate.error().message;
    const auto results = ask_gates(run, std::span(&*gate, 1));
    return results ? std::string() : results.error().message;
  };
  EXPECT_NE(error("recal@5 < 0.5").find("recall@5"), std::string::npos);
  EXPECT_NE(error("asr@5 > 0.1 where defence = ragpard").find("ragpart"), std::string::npos);
  EXPECT_NE(error("asr@5 > 0.1 where attack = near-duplicates").find("near-duplicate"), std::string::npos);
  EXPECT_NE(error("high(asr@10) > 0.1").find("interval"), std::string::npos);
  for (const char* text :
       {"", "asr", "asr >", "asr > x", "> 0.1", "asr > nan", "asr > inf", "asr > 0.1 where", "asr > 0.1 where x = y",
        "asr > 0.1 where defence", "asr > 0.1 where defence =", "asr@5 > 0.1 where attack = none, attack != none"})
    EXPECT_NE(error(text), "") << text;
}

TEST(Gate, AConditionWithoutAnyResultFails) {
  RunRecord run = small_run();
  run.conditions[3].figures.clear();
  const auto results = ask(run, {"asr@5 > 0.5"});
  EXPECT_EQ(failed(results), 1U);
}

TEST(Gate, AMetricThatIsMissingOverNothingOrNoNumberFailsAndSaysSo) {
  for (int broken = 0; broken < 4; ++broken) {
    RunRecord run = small_run();
    auto& figures = run.conditions[3].figures;
    if (broken == 0) figures.erase("asr@5");
    if (broken == 1) figures["asr@5"].of = 0;
    if (broken == 2) figures["asr@5"].value = std::numeric_limits<double>::quiet_NaN();
    if (broken == 3) figures["asr@5"].value = -std::numeric_limits<double>::infinity();
    std::vector<Gate> gates;
    const auto results = ask(run, {"asr@5 > 0.5"}, &gates);
    ASSERT_EQ(results.size(), 4U) << broken;
    EXPECT_TRUE(results[3].failed) << broken;
    EXPECT_EQ(failed(results), 1U) << broken;
    EXPECT_NE(gates_junit(run, gates, results).find("shows nothing"), std::string::npos) << broken;
  }
}

TEST(Gate, WhatAttacksReachIsNotAskedWhereThereIsNone) {
  RunRecord run = small_run();
  run.conditions[0].figures.erase("asr@5");
  run.conditions[1].figures.erase("asr@5");
  EXPECT_EQ(ask(run, {"asr@5 > 0.5"}).size(), 2U);
  run.conditions[0].figures.erase("recall@5");
  EXPECT_EQ(failed(ask(run, {"recall@5 < 0.1"})), 1U);
}

TEST(Exports, JunitCountsCasesAndEscapesNames) {
  const RunRecord run = small_run();
  std::vector<Gate> gates;
  const auto results = ask(run, {"asr@5 > 0.05", "recall@5 < 0.1"}, &gates);
  const std::string xml = gates_junit(run, gates, results);
  EXPECT_NE(xml.find("<testsuite name=\"small &amp; &lt;odd&gt;\" tests=\"8\" failures=\"1\" errors=\"0\""),
            std::string::npos)
      << xml;
  EXPECT_NE(xml.find("asr@5 &gt; 0.05"), std::string::npos);
  EXPECT_EQ(xml.find("<odd>"), std::string::npos);
}

TEST(Exports, SarifHasAResultForEachFigureThatFailed) {
  RunRecord run = small_run();
  run.certified.push_back({"keyword", "injection 1", {.5, std::nullopt, 10, true}, 10, 2});
  std::vector<Gate> gates;
  const auto results = ask(run, {"asr@5 > 0.05"}, &gates);
  const auto sarif = nlohmann::json::parse(gates_sarif(run, gates, results));
  EXPECT_EQ(sarif["version"], "2.1.0");
  const auto& one = sarif["runs"][0];
  ASSERT_EQ(one["results"].size(), 2U);
  EXPECT_EQ(one["results"][0]["ruleId"], one["tool"]["driver"]["rules"][0]["id"]);
  EXPECT_EQ(one["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "queries/2.jsonl");
  EXPECT_EQ(one["results"][1]["ruleId"],
            one["tool"]["driver"]["rules"][one["results"][1]["ruleIndex"].get<std::size_t>()]["id"]);
}

TEST(Exports, TablesEscapeWhatTheirFormatsRead) {
  RunRecord run = small_run();
  run.defences = {"a|b_c%", "x\"y,z"};
  for (std::size_t i = 0; i < 4; ++i) run.conditions[i].defence = run.defences[i % 2];
  EXPECT_NE(run_latex(run).find("a|b\\_c\\%"), std::string::npos);
  EXPECT_NE(run_latex(run).find("near-duplicate\\{rate: 0.05, edits: 1\\} & 0.800 {\\small [0.700, 0.900]}"),
            std::string::npos);
  EXPECT_NE(run_markdown(run).find("a\\|b_c%"), std::string::npos);
  const std::string csv = run_csv(run);
  EXPECT_NE(csv.find("small & <odd>,ranking,none,\"x\"\"y,z\",recall@5,0.8,0.7,0.9,100\n"), std::string::npos) << csv;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 13);
  const auto json = nlohmann::json::parse(run_json(run));
  EXPECT_EQ(json["conditions"].size(), 4U);
}

}  // namespace
}  // namespace casemate
