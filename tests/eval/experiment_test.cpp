#include "casemate/eval/experiment.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "casemate/core/yaml_options.h"
#include "casemate/eval/answer_experiment.h"
#include "casemate/eval/composed_experiment.h"
#include "casemate/eval/leakage_experiment.h"

namespace casemate {
namespace {

std::string with(const std::string& rest) { return "name: x\ndata: {path: a.json}\nmetrics: [recall@5]\n" + rest; }

std::string error_of(const std::string& yaml) {
  const auto read = parse_experiment(yaml, "x.yaml");
  return read.ok() ? "" : read.error().message;
}

TEST(Experiment, TheGridIsEveryAttackWithEveryChainAndListsOfValuesAreExpanded) {
  const auto read = parse_experiment(with("attacks: [{name: query-noise, sigma: [0.02, 0.1]}, none]\n"
                                          "defences:\n- suppression\n- none\n- ['ragpart{combination: 1}', cluster]\n"),
                                     "x.yaml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  std::vector<std::string> names;
  std::set<std::string> files;
  for (const Condition& condition : read->conditions()) {
    names.push_back(condition.name());
    files.insert(condition.file_name());
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"none / none", "none / suppression", "none / ragpart{combination: 1} + cluster",
                                      "query-noise{sigma: 0.02} / none", "query-noise{sigma: 0.02} / suppression",
                                      "query-noise{sigma: 0.02} / ragpart{combination: 1} + cluster",
                                      "query-noise{sigma: 0.1} / none", "query-noise{sigma: 0.1} / suppression",
                                      "query-noise{sigma: 0.1} / ragpart{combination: 1} + cluster"}));
  EXPECT_EQ(files.size(), names.size());
  for (const std::string& file : files) EXPECT_EQ(file.find_first_of(" /{}:+"), std::string::npos) << file;
}

TEST(Experiment, WithoutAttacksAndDefencesItIsTheCleanUndefendedCorpus) {
  const auto read = parse_experiment(with(""), "x.yaml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->conditions().size(), 1U);
  EXPECT_EQ(read->conditions()[0].name(), "none / none");
  EXPECT_EQ(read->questions, 0);
}

TEST(Experiment, WhateverIsMisspeltIsRefusedWithPlaceAndTheNearestName) {
  EXPECT_NE(error_of(with("defenses: [none]")).find("did you mean \"defences\"?"), std::string::npos);
  EXPECT_NE(error_of(with("defenses: [none]")).find("x.yaml:4"), std::string::npos) << error_of(with("defenses: []"));
  EXPECT_NE(error_of(with("attacks: [near-duplicat]")).find("did you mean \"near-duplicate\"?"), std::string::npos);
  EXPECT_NE(error_of(with("attacks: ['irrelevant{rat: 1}']")).find("did you mean \"rate\"?"), std::string::npos);
  EXPECT_NE(error_of(with("defences: [supression]")).find("did you mean \"suppression\"?"), std::string::npos);
  EXPECT_NE(error_of("name: x\ndata: {path: a}\nmetrics: [recal@5]").find("did you mean \"recall\"?"),
            std::string::npos);
  EXPECT_NE(error_of("name: x\ndata: {path: a}\nmetrics: [recall]").find("needs a depth"), std::string::npos);
  EXPECT_NE(error_of(with("top_k: 3")).find("looks further than top_k"), std::string::npos);
  EXPECT_NE(error_of("name: x\nmetrics: [mrr@10]").find("data"), std::string::npos);
  EXPECT_NE(error_of("name: ../x\ndata: {path: a}\nmetrics: [mrr@10]").find("name must be"), std::string::npos);
  EXPECT_NE(error_of("name: x\ndata: {path: a, format: beer}\nmetrics: [mrr@10]").find("beir"), std::string::npos);
  EXPECT_NE(error_of(with("attacks: [irrelevant, irrelevant]")).find("twice"), std::string::npos);
  EXPECT_NE(error_of(with("attacks: [{sigma: 1}]")).find("needs a \"name\""), std::string::npos);
  EXPECT_NE(error_of(with("attacks: [{name: query-noise, sigma: []}]")).find("empty list"), std::string::npos);
}

TEST(Experiment, ShippedExperimentsAreRead) {
  std::size_t read = 0;
  for (const auto& file : std::filesystem::directory_iterator(std::string(CASEMATE_SOURCE_DIR) + "/experiments")) {
    if (file.path().extension() != ".yaml") continue;
    const auto root = YamlValue::parse_file(file.path().string());
    ASSERT_TRUE(root.ok()) << root.error().message;
    if (is_answer_experiment(*root)) {
      const auto answers = read_answer_experiment(*root);
      EXPECT_TRUE(answers.ok()) << answers.error().message;
      ++read;
      continue;
    }
    if (is_composed_experiment(*root)) {
      const auto composed = read_composed_experiment(*root);
      ASSERT_TRUE(composed.ok()) << composed.error().message;
      EXPECT_EQ(composed->name, file.path().stem().string());
      ++read;
      continue;
    }
    if (is_leakage_experiment(*root)) {
      const auto leakage = read_leakage_experiment(*root);
      ASSERT_TRUE(leakage.ok()) << leakage.error().message;
      EXPECT_EQ(leakage->name, file.path().stem().string());
      ++read;
      continue;
    }
    const auto experiment = load_experiment(file.path().string());
    ASSERT_TRUE(experiment.ok()) << experiment.error().message;
    EXPECT_EQ(experiment->name, file.path().stem().string());
    ++read;
  }
  EXPECT_GE(read, 2U);
}

TEST(Experiment, MetricNamesComeBackAsTheyWere) {
  for (const char* name : {"recall@5", "precision@5", "mrr@10", "ndcg@10", "map@10", "poison-rank@5", "asr@5",
                           "targeted-asr@1", "poison-share@20"})
    EXPECT_EQ(eval_metric_name(*parse_eval_metric(name)), name);
  EXPECT_EQ(eval_metric_name(*parse_eval_metric("success@5")), "success@5");
  for (const char* name : {"recall@0", "recall@", "recall@5 ", "mrr@-1", ""})
    EXPECT_FALSE(parse_eval_metric(name).ok());
}

}  // namespace
}  // namespace casemate
