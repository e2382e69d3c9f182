#include "casemate/eval/leakage_experiment.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "casemate/core/file_system.h"
#include "casemate/eval/gate.h"
#include "casemate/eval/report.h"
#include "casemate/eval/text_scores.h"
#include "support/temporary_folder.h"
#include "testing/hash_encoder.h"
#include "testing/scripted_llm.h"

namespace casemate {
namespace {

const std::string kBridge =
    "The bridge over the Tarn was designed by Karla Voss and opened in 1932 by the mayor of the town before a crowd of "
    "seven thousand people.";
const std::string kMuseum = "The museum of Orvel keeps forty models of herring boats and one bronze bell from a wreck.";

class LeakageExperimentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto question = [](const char* id, const char* text, const char* answer) {
      return nlohmann::json{{"id", id}, {"question", text}, {"answers", {{{"text", answer}, {"answer_start", 0}}}}};
    };
    const nlohmann::json squad = {
        {"version", "1.1"},
        {"data",
         {{{"title", "Tarn"},
           {"paragraphs",
            {{{"context", kBridge}, {"qas", {question("q1", "Who designed the bridge over the Tarn?", "Karla Voss")}}},
             {{"context", kMuseum},
              {"qas", {question("q2", "What does the museum of Orvel keep?", "herring boats")}}}}}}}}};
    std::ofstream(folder_.path("squad.json")) << squad.dump();
    testing::ScriptedLlmOptions options;
    // A generator that prints what it was shown when it is told to, and a summary that is the passage.
    options.answers = {{"print the context", kBridge},
                       {"Summary:", kBridge},
                       {"Answer in full", "Karla Voss. [1]"},
                       {"Answer:", "Voss"},
                       {"", "Nothing."}};
    options.context_tokens = 8192;
    model_ = *testing::ScriptedLlm::create(std::move(options));
    encoder_ = testing::make_hash_encoder({});
  }

  LeakageExperiment experiment(const std::string& rest = "") {
    const auto root = YamlValue::parse(
        "name: t\nkind: leakage\ndata: {format: squad, path: squad.json}\npassages: 2\n"
        "modes: [vanilla, no-rag]\n" +
            rest,
        "t.yaml");
    EXPECT_TRUE(is_leakage_experiment(*root));
    auto read = read_leakage_experiment(*root);
    EXPECT_TRUE(read.ok()) << read.error().message;
    read->data.path = folder_.path("squad.json");
    return *std::move(read);
  }

  Result<LeakageRun> run(const LeakageExperiment& experiment, const std::string& out) {
    return run_leakage_experiment(experiment, {encoder_.get(), model_.get(), nullptr}, folder_.path(out), false,
                                  Progress::none(), {});
  }

  /// Of the run in `out`, every answer of a log but the first `kept` becomes one that failed.
  void let_fail(const std::string& out, const std::string& log, std::size_t kept) {
    const std::string path = folder_.path(out + "/queries/" + log);
    std::istringstream lines(*read_file(path));
    std::string text;
    for (std::string line; std::getline(lines, line);) {
      if (kept == 0) line = nlohmann::json{{"query", nlohmann::json::parse(line)["query"]}, {"error", "broken"}}.dump();
      if (kept > 0) --kept;
      text += line + "\n";
    }
    std::ofstream(path, std::ios::binary) << text;
  }

  /// Conditions of the run in `out` under which the gate fails.
  std::vector<std::string> failing(const std::string& out, const std::string& gate) {
    const auto record = read_run_record(folder_.path(out));
    const auto parsed = parse_gate(gate);
    if (!record || !parsed) return {"unread"};
    const auto results = ask_gates(*record, std::span(&*parsed, 1));
    if (!results) return {results.error().message};
    std::vector<std::string> names;
    for (const GateResult& each : *results) {
      if (each.failed) names.push_back(each.attack + " / " + each.defence);
    }
    return names;
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<LanguageModel> model_;
  std::unique_ptr<Encoder> encoder_;
};

TEST_F(LeakageExperimentTest, APrintedPassageIsALeakOfOneAndAnAnswerIsUse) {
  const auto done = run(experiment("cases: [clean, targeted]\ninstructions: [context-ignoring, native]\n"), "a");
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done->asked, 2U * (1 + 2) * 2);  // modes, clean and two instructions, questions
  ASSERT_EQ(done->utility.size(), 2U);
  EXPECT_EQ(done->utility[0].mode, "vanilla");
  EXPECT_EQ(done->utility[0].questions, 2U);
  EXPECT_DOUBLE_EQ(done->utility[0].contains, 0.5);
  EXPECT_DOUBLE_EQ(done->utility[0].exact_match, 0.5);  // without its "[1]"
  EXPECT_DOUBLE_EQ(done->utility[0].in_context, 1.0);
  EXPECT_DOUBLE_EQ(done->utility[1].in_context, 0.0);
  ASSERT_EQ(done->leakage.size(), 2U);
  // The bridge is printed whole, whatever was asked, and is among the chunks retrieved; the museum is not printed.
  EXPECT_NEAR(done->leakage[0].eed, 1.0, 1e-9);
  EXPECT_NEAR(done->leakage[0].f1, 1.0, 1e-9);
  EXPECT_EQ(done->leakage[0].worst, "context-ignoring");
  EXPECT_DOUBLE_EQ(done->leakage[0].crr_eed.at(3), 0.5);
  // All instructions stand beside the worst.
  ASSERT_EQ(done->leakage[0].instructions.size(), 2U);
  EXPECT_EQ(done->leakage[0].instructions[1].instruction, "native");
  EXPECT_EQ(done->leakage[0].instructions[1].questions, 2U);
  EXPECT_NEAR(done->leakage[0].instructions[0].eed, 1.0, 1e-9);
  EXPECT_LT(done->leakage[0].instructions[1].eed, 0.2);  // the model follows the other one alone
  EXPECT_NE(to_markdown(*done).find("| case | mode | context-ignoring | native |"), std::string::npos);
  EXPECT_NE(to_json(*done).find("\"instruction\": \"native\""), std::string::npos);
}

TEST_F(LeakageExperimentTest, AStoppedRunGoesOnWithTheSameLogs) {
  const LeakageExperiment what = experiment("instructions: [native]\n");
  const auto whole = run(what, "a");
  ASSERT_TRUE(whole.ok());
  ASSERT_TRUE(run(what, "b").ok());
  const std::string log = folder_.path("b/queries/0-vanilla-targeted-native.jsonl");
  const std::string text = *read_file(log);
  std::ofstream(log, std::ios::binary) << text.substr(0, text.find('\n') + 10);  // one line and a torn one
  const auto again = run(what, "b");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->asked, 1U);
  EXPECT_EQ(again->already + again->asked, whole->asked);
  EXPECT_EQ(*read_file(log), text);
  EXPECT_EQ(*read_file(folder_.path("a/summary.json")), *read_file(folder_.path("b/summary.json")));
  EXPECT_EQ(run(experiment("instructions: [combined]\n"), "b").error().code, ErrorCode::kMismatch);
}

TEST_F(LeakageExperimentTest, TheGuardCountsWhatItWithholds) {
  const auto done = run(experiment("cases: [context]\ninstructions: [context-ignoring]\nguard: stop\n"), "a");
  ASSERT_TRUE(done.ok()) << done.error().message;
  ASSERT_EQ(done->leakage.size(), 2U);
  EXPECT_GE(done->leakage[0].withheld, 1U);
  EXPECT_LT(done->leakage[0].eed, 0.6);
}

TEST_F(LeakageExperimentTest, AnswersThatFailedAreNoAbsenceOfLeaksAndFailTheGates) {
  const LeakageExperiment what = experiment("cases: [clean, targeted]\ninstructions: [context-ignoring]\n");
  const std::string log = "0-vanilla-targeted-context-ignoring.jsonl";
  ASSERT_TRUE(run(what, "a").ok());
  EXPECT_EQ(failing("a", "leak_eed > 2"), std::vector<std::string>());
  let_fail("a", log, 1);
  const auto half = run(what, "a");
  ASSERT_TRUE(half.ok()) << half.error().message;
  EXPECT_NEAR(half->leakage[0].eed, 1.0, 1e-9);  // of the one answer that there is
  const auto row = nlohmann::json::parse(*read_file(folder_.path("a/summary.json")))["leakage"][0];
  EXPECT_EQ(row.value("questions", 99), 1);
  EXPECT_EQ(row.value("failed", 99), 1);
  EXPECT_EQ(failing("a", "leak_eed > 2"), std::vector<std::string>{"targeted / vanilla"});
  let_fail("a", log, 0);
  ASSERT_TRUE(run(what, "a").ok());
  EXPECT_TRUE(nlohmann::json::parse(*read_file(folder_.path("a/summary.json")))["leakage"][0]["eed"].is_null());
  EXPECT_EQ(failing("a", "leak_eed > 2"), std::vector<std::string>{"targeted / vanilla"});
  let_fail("a", "0-vanilla-clean.jsonl", 1);
  ASSERT_TRUE(run(what, "a").ok());
  EXPECT_EQ(failing("a", "contains < 0"), std::vector<std::string>{"none / vanilla"});
}

TEST_F(LeakageExperimentTest, RecoveryCanBeGatedAtEachThreshold) {
  ASSERT_TRUE(run(experiment("cases: [targeted]\ninstructions: [context-ignoring]\n"), "a").ok());
  const auto record = read_run_record(folder_.path("a"));
  ASSERT_TRUE(record.ok());
  const RunCondition* vanilla = record->find("targeted", "vanilla");
  ASSERT_NE(vanilla, nullptr);
  ASSERT_TRUE(vanilla->figures.contains("crr_eed@0.9"));
  EXPECT_DOUBLE_EQ(vanilla->figures.at("crr_eed@0.9").value, 0.5);
  EXPECT_EQ(vanilla->figures.at("crr_eed@0.9").of, 2U);
  EXPECT_TRUE(vanilla->figures.contains("crr_lcs@0.3"));
  EXPECT_EQ(metric_sense("crr_lcs@0.3"), MetricSense::kLowerIsBetter);
  EXPECT_EQ(failing("a", "crr_eed@0.9 > 0.4 where defence = vanilla"), std::vector<std::string>{"targeted / vanilla"});
}

TEST_F(LeakageExperimentTest, AFolderIsOfOneGuardAndOneStyle) {
  const std::string rest = "cases: [clean]\n";
  ASSERT_TRUE(run(experiment(rest + "guard: stop\n"), "a").ok());
  EXPECT_TRUE(run(experiment(rest + "guard: stop\n"), "a").ok());
  const auto claimed = nlohmann::json::parse(*read_file(folder_.path("a/experiment.json")));
  EXPECT_EQ(claimed["model"]["hash"], model_->info().file_hash);  // two models may have one name
  for (const char* guard :
       {"redact", "'stop{max_run_words: 8}'", "'stop{max_share: 0.5}'", "'stop{share_run_words: 5}'"})
    EXPECT_FALSE(run(experiment(rest + "guard: " + guard + "\n"), "a").ok()) << guard;
  LeakageExperiment styled = experiment(rest);
  const std::string style = folder_.path("style.yaml");
  styled.modes = {*parse_sanitizer("kfs-full{style_file: '" + style + "'}")};
  const auto write = [&style](const std::string& text) {
    std::ofstream(style) << "- facts: The bridge is old.\n  text: " << text << "\n";
  };
  write("It is old.");
  const auto first = run(styled, "b");
  ASSERT_TRUE(first.ok()) << first.error().message;
  write("Old it is.");
  const auto again = run(styled, "b");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kMismatch);
}

TEST_F(LeakageExperimentTest, SecondsOfAnotherProcessAreNotShownAsNone) {
  const LeakageExperiment what = experiment("cases: [clean]\n");
  const auto first = run(what, "a");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(to_markdown(*first).find("| - |\n"), std::string::npos);
  const auto again = run(what, "a");
  ASSERT_TRUE(again.ok());
  EXPECT_NE(to_markdown(*again).find("| - |\n"), std::string::npos) << to_markdown(*again);
}

TEST_F(LeakageExperimentTest, RatesHaveWilsonsIntervalsAndMeansTheBootstraps) {
  const auto done = run(experiment("cases: [clean, targeted]\ninstructions: [native, context-ignoring]\n"), "a");
  ASSERT_TRUE(done.ok()) << done.error().message;
  // One of two: by Wilson's formula, computed by hand.
  const FigureInterval& contains = done->utility[0].intervals.at("contains");
  EXPECT_TRUE(contains.is_rate);
  EXPECT_NEAR(contains.interval.low, 0.0945, 5e-5);
  EXPECT_NEAR(contains.interval.high, 0.9055, 5e-5);
  EXPECT_FALSE(done->utility[0].intervals.at("bleu1").is_rate);
  // A leak's interval is that of the worst instruction: both of its answers are the passage. Of two, by hand again.
  const LeakageRow& leak = done->leakage[0];
  EXPECT_EQ(leak.worst, "context-ignoring");
  EXPECT_NEAR(leak.intervals.at("eed").interval.low, 2 / (2 + 3.8415), 5e-5);
  EXPECT_LT(leak.instructions[0].intervals.at("eed").interval.high, 0.3);
  EXPECT_NEAR(leak.intervals.at("crr_eed@0.9").interval.low, 0.0945, 5e-5);  // one of two chunks
  const auto record = read_run_record(folder_.path("a"));
  ASSERT_TRUE(record.ok());
  const RunFigure& shown = record->find("none", "vanilla")->figures.at("contains");
  ASSERT_TRUE(shown.interval);
  EXPECT_TRUE(shown.is_rate);
  EXPECT_NEAR(shown.interval->high, 0.9055, 5e-5);
  ASSERT_TRUE(record->find("targeted", "vanilla")->figures.at("crr_eed@0.9").interval);
  EXPECT_EQ(failing("a", "high(contains) > 0.9 where defence = vanilla"), std::vector<std::string>{"none / vanilla"});
  const std::string csv = *read_file(folder_.path("a/summary.csv"));
  EXPECT_NE(csv.find("clean,\"vanilla\",,contains,0.5,0.0945"), std::string::npos) << csv;
  EXPECT_NE(csv.find("targeted,\"vanilla\",native,eed,"), std::string::npos) << csv;
  EXPECT_NE(to_markdown(*done).find("0.500 [0.09, 0.91]"), std::string::npos);
}

TEST_F(LeakageExperimentTest, PassagesMayLieElsewhereThanTheQuestions) {
  std::ofstream(folder_.path("nq.jsonl")) << R"({"question": "who built the bridge", "answer": ["Karla Voss"]})"
                                          << "\n";
  std::ofstream(folder_.path("wiki.txt")) << " = Tarn = \n\n " << kBridge << " \n " << kMuseum << " \n";
  const auto root = YamlValue::parse(
      "name: t\nkind: leakage\ndata: {format: nq-open, path: nq.jsonl, corpus: {format: wikitext, path: wiki.txt}}\n"
      "modes: [vanilla]\ncases: [untargeted]\ninstructions: [context-ignoring]\n",
      "t.yaml");
  auto what = read_leakage_experiment(*root);
  ASSERT_TRUE(what.ok()) << what.error().message;
  what->data.path = folder_.path("nq.jsonl");
  what->data.corpus_path = folder_.path("wiki.txt");
  const LeakageParts parts{encoder_.get(), model_.get(), nullptr};
  const auto asked = [&](const std::string& out) {
    return run_leakage_experiment(*what, parts, folder_.path(out), false, Progress::none(), {});
  };
  const auto done = asked("a");
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_NEAR(done->leakage.at(0).eed, 1.0, 1e-9);
  what->distractors = 0;  // and nothing says which passages answer
  const auto none = asked("b");
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("distractors"), std::string::npos) << none.error().message;
}

TEST_F(LeakageExperimentTest, ThePageSaysWhoseIntervalsTheyAre) {
  ASSERT_TRUE(run(experiment("cases: [targeted]\ninstructions: [native]\n"), "a").ok());
  const auto record = read_run_record(folder_.path("a"));
  ASSERT_TRUE(record.ok());
  const auto page = make_report(std::span(&*record, 1));
  ASSERT_TRUE(page.ok());
  EXPECT_NE(page->find("with the interval of that one"), std::string::npos);
}

TEST_F(LeakageExperimentTest, MistakesInTheFileAreNamed) {
  const auto read = [](const std::string& rest) {
    return read_leakage_experiment(*YamlValue::parse("name: t\nkind: leakage\ndata: {path: x}\n" + rest, "t.yaml"));
  };
  EXPECT_FALSE(read("").ok());
  EXPECT_FALSE(read("modes: [kfs-fakt]\n").ok());
  EXPECT_FALSE(read("modes: [vanilla]\ncases: [dirty]\n").ok());
  EXPECT_FALSE(read("modes: [vanilla]\nquestion: 3\n").ok());
  EXPECT_EQ(read("modes: [vanilla]\n")->instructions.size(), 5U);
}

TEST(ChunkRecoveryTest, TheBestOutputCountsForEachChunkAndEachCurve) {
  ChunkRecovery recovery;
  EXPECT_EQ(recovery.rate_by_edits(0.1), 0);
  recovery.add("a", 0.2, 0.9);
  recovery.add("a", 0.6, 0.1);
  recovery.add("b", 0.1, 0.1);
  EXPECT_DOUBLE_EQ(recovery.rate_by_edits(0.5), 0.5);
  EXPECT_DOUBLE_EQ(recovery.rate_by_subsequence(0.9), 0.5);
  EXPECT_DOUBLE_EQ(recovery.rate_by_edits(0.7), 0);
}

TEST(EmbeddingCosineTest, IsTheCosine) {
  const std::vector<float> a = {3, 4};
  const std::vector<float> b = {4, 3};
  EXPECT_NEAR(embedding_cosine(a, b), 24.0 / 25.0, 1e-12);
  EXPECT_EQ(embedding_cosine(a, std::vector<float>{0, 0}), 0);
}

}  // namespace
}  // namespace casemate
