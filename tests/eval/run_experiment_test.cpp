// The runner on a small corpus made here, with the hash encoder: what it logs, that it resumes, and that neither an
// interruption nor the number of threads changes a byte.
#include "casemate/eval/run_experiment.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "eval/query_log.h"
#include "support/stopping_progress.h"
#include "support/temporary_folder.h"
#include "testing/hash_encoder.h"

namespace casemate {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// 40 passages about bridges, two questions each.
std::string small_squad() {
  Json paragraphs = Json::array();
  for (int i = 0; i < 40; ++i) {
    const std::string name = "builder" + std::to_string(100 + i);
    const std::string year = std::to_string(1700 + 3 * i);
    const std::string bridge = "bridge" + std::to_string(i);
    paragraphs.push_back({{"context", "The old " + bridge + " over the river was planned by " + name +
                                          " and opened in " + year + " with two lanes, a toll house and lamps."},
                          {"qas",
                           {{{"id", "y" + std::to_string(i)},
                             {"question", "When was the " + bridge + " opened?"},
                             {"answers", {{{"text", year}, {"answer_start", 0}}}}},
                            {{"id", "n" + std::to_string(i)},
                             {"question", "Who planned the " + bridge + "?"},
                             {"answers", {{{"text", name}, {"answer_start", 0}}}}}}}});
  }
  return Json{{"version", "1.1"}, {"data", {{{"title", "Bridges"}, {"paragraphs", paragraphs}}}}}.dump();
}

constexpr char kExperiment[] = R"(
name: small
data: {path: squad.json}
seed: 7
questions: 50
quick_questions: 10
top_k: 5
metrics: [recall@1, mrr@5, asr@5, targeted-asr@5]
attacks: [none, query-as-poison, 'contradictory{rate: 0.2}', 'query-noise{sigma: 0.2}']
defences: [none, 'suppression{max_cosine: 0.8}', 'ragpart{fragments: 3, combination: 1}']
)";

class RunExperiment : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_.path("squad.json")) << small_squad();
    encoder_ = testing::make_hash_encoder();
    auto read = parse_experiment(kExperiment, "small.yaml");
    ASSERT_TRUE(read.ok()) << read.error().message;
    experiment_ = *std::move(read);
    experiment_.data.path = folder_.path("squad.json");
  }

  Result<EvalRun> run(const std::string& out, const ThreadPool& pool, Progress& progress = Progress::none(),
                      std::stop_token stop = {}, bool quick = false) {
    EvalParts parts;
    parts.encoder = encoder_.get();
    parts.pool = &pool;
    EvalOptions options;
    options.out = folder_.path(out);
    options.quick = quick;
    return run_experiment(experiment_, parts, options, progress, std::move(stop));
  }

  /// Every file of a run that must not differ, by name.
  std::map<std::string, std::string> files_of(const std::string& out) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path(out))) {
      const std::string name = fs::relative(entry.path(), folder_.path(out)).string();
      if (!entry.is_regular_file() || name.starts_with("work/") || name == "timings.json") continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      files[name] = text.str();
    }
    return files;
  }

  std::vector<Json> log_of(const std::string& out, std::size_t condition) {
    std::vector<Json> lines;
    std::ifstream file(folder_.path(out) + "/queries/" + experiment_.conditions()[condition].file_name() + ".jsonl");
    for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
    return lines;
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<Encoder> encoder_;
  Experiment experiment_;
  ThreadPool one_{1};
  ThreadPool two_{2};
};

TEST_F(RunExperiment, LogsEveryQueryUnderEveryConditionAndSummarisesFromTheLogs) {
  const auto done = run("out", two_);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done->asked, 12U * 50U);
  const EvalSummary& summary = done->summary;
  ASSERT_EQ(summary.conditions.size(), 12U);
  for (std::size_t c = 0; c < 12; ++c) {
    const auto lines = log_of("out", c);
    ASSERT_EQ(lines.size(), 50U);
    for (std::size_t m = 0; m < summary.metrics.size(); ++m) {
      // Computed here from the hits alone.
      double sum = 0;
      for (const Json& line : lines) {
        int rank = 0;
        bool poison = false;
        for (std::size_t h = 0; h < line.at("hits").size(); ++h) {
          const auto document = line.at("hits").at(h).at(0).get<std::string>();
          if (document == line.at("gold")) rank = static_cast<int>(h) + 1;
          poison = poison || document.starts_with("casemate-attack/");
        }
        const double expected[] = {rank == 1 ? 1.0 : 0.0, rank > 0 ? 1.0 / rank : 0.0, poison ? 1.0 : 0.0,
                                   line.at("own_poison").empty() ? 0.0 : 1.0};
        EXPECT_EQ(line.at("metrics").at(eval_metric_name(summary.metrics[m])).get<double>(), expected[m]);
        sum += expected[m];
      }
      EXPECT_NEAR(summary.conditions[c].cells[m].mean, sum / 50, 1e-12);
    }
  }
  // The clean corpus holds no poison; three documents a query are planted; the noise plants none.
  EXPECT_EQ(summary.conditions[0].planted, 0U);
  EXPECT_EQ(summary.conditions[0].cells[2].mean, 0);
  EXPECT_EQ(summary.conditions[3].planted, 150U);
  EXPECT_GT(summary.conditions[3].cells[3].mean, 0.9);
  EXPECT_EQ(summary.conditions[6].planted, 8U);
  EXPECT_EQ(summary.conditions[9].planted, 0U);
  EXPECT_LT(summary.conditions[9].cells[1].mean, summary.conditions[0].cells[1].mean);
}

TEST_F(RunExperiment, ThreadsAndInterruptionsChangeNoByte) {
  ASSERT_TRUE(run("whole", one_).ok());
  const auto whole = files_of("whole");
  EXPECT_EQ(whole.size(), 1U + 12U + 2U + 2U + 3U);
  std::size_t stops = 0;
  for (int after = 1;; after += 3) {
    test::StoppingProgress progress(after);
    const auto done = run("parts", two_, progress, progress.stop.get_token());
    if (done.ok()) break;
    ASSERT_EQ(done.error().code, ErrorCode::kCancelled) << done.error().message;
    ++stops;
    ASSERT_LT(stops, 100U);
  }
  EXPECT_GT(stops, 3U);
  EXPECT_EQ(files_of("parts"), whole);
}

TEST_F(RunExperiment, ATornLineAndPoisonThatAKillLeftBehindAreMended) {
  ASSERT_TRUE(run("whole", two_).ok());
  const auto whole = files_of("whole");
  fs::copy(folder_.path("whole"), folder_.path("killed"), fs::copy_options::recursive);
  const std::string torn = folder_.path("killed") + "/queries/" + experiment_.conditions()[4].file_name() + ".jsonl";
  fs::resize_file(torn, fs::file_size(torn) * 2 / 3);
  {
    // The documents of another attack are still in the store.
    auto store = Store::open(folder_.path("killed") + "/work/store");
    ASSERT_TRUE(store.ok()) << store.error().message;
    NewDocument left;
    left.tenant = "default";
    left.id = "casemate-attack/query-as-poison/0";
    left.chunks.push_back({UntrustedText("When was the bridge0 opened?"), 0, 1, 0, 0});
    left.embeddings.assign(64, 0.125F);
    ASSERT_TRUE((*store)->add_documents(std::span(&left, 1)).ok());
  }
  const auto again = run("killed", two_);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_GT(again->asked, 10U);
  EXPECT_LT(again->asked, 30U);
  EXPECT_EQ(files_of("killed"), whole);
}

TEST_F(RunExperiment, FingerprintComparesWithTheCleanCorpusWhichIsSealedForIt) {
  experiment_.attacks = {"none", "near-duplicate{edits: 1}"};
  experiment_.defences = {{}, {DefenceChoice{"fingerprint", "{}"}}};
  const auto done = run("out", two_);
  ASSERT_TRUE(done.ok()) << done.error().message;
  const auto& conditions = done->summary.conditions;
  ASSERT_EQ(conditions.size(), 4U);
  EXPECT_GT(conditions[2].cells[2].mean, 0);  // copies are found without a defence
  EXPECT_EQ(conditions[3].cells[2].mean, 0);  // and none with it
  EXPECT_EQ(conditions[3].cells[0].mean, conditions[0].cells[0].mean);
  experiment_.defences = {{DefenceChoice{"fingerprint", "{pool_sise: 3}"}}};
  EXPECT_NE(run("other", two_).error().message.find("pool_size"), std::string::npos);
}

TEST_F(RunExperiment, AnAutomaticDeltaIsCalibratedOnQuestionsThatAreNotAsked) {
  experiment_.attacks = {"none", "query-as-poison"};
  experiment_.defences = {{DefenceChoice{"ragmask", "{perturb: delete, mask_length_tokens: 3, delta_relative: auto}"}}};
  const auto done = run("auto", two_);
  ASSERT_TRUE(done.ok()) << done.error().message;
  std::ifstream file(folder_.path("auto") + "/calibrations.json");
  const Json kept = Json::parse(file);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].at("details").at("questions"), 80 - 50);
  const Json& curve = kept[0].at("details").at("curve");
  EXPECT_GT(curve.size(), 2U);
  for (const Json& point : curve) {
    if (point.at("delta").get<double>() < kept[0].at("value").get<double>()) continue;
    EXPECT_GE(point.at("clean_success").get<double>(),
              kept[0].at("details").at("undefended_success").get<double>() - 0.02 - 1e-9);
  }
  // The same as that delta written out.
  const auto measured = log_of("auto", 1);
  experiment_.defences = {{DefenceChoice{
      "ragmask", "{perturb: delete, mask_length_tokens: 3, delta_relative: " + kept[0].at("value").dump() + "}"}}};
  ASSERT_TRUE(run("written", two_).ok());
  const auto written = log_of("written", 1);
  ASSERT_EQ(measured.size(), 50U);
  ASSERT_EQ(written.size(), 50U);
  for (std::size_t i = 0; i < written.size(); ++i) EXPECT_EQ(measured[i].at("hits"), written[i].at("hits"));
  EXPECT_FALSE(fs::exists(folder_.path("written") + "/calibrations.json"));
}

TEST_F(RunExperiment, AnAutomaticDeltaNeedsQuestionsThatAreNotAsked) {
  experiment_.defences = {{DefenceChoice{"ragmask", "{delta: auto}"}}};
  experiment_.questions = 61;  // of 80
  const auto done = run("out", two_);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::kInvalidOption);
  EXPECT_NE(done.error().message.find("here are 19"), std::string::npos) << done.error().message;
}

TEST_F(RunExperiment, ASmallerCorpusIsAllThatIsSearchedAndAnotherExperiment) {
  experiment_.corpus = 12;
  experiment_.questions = 5;
  const auto done = run("small-corpus", one_);
  ASSERT_TRUE(done.ok()) << done.error().message;
  std::set<std::string> seen;
  for (const Condition& condition : experiment_.conditions()) {
    if (condition.attack != "none") continue;
    const std::size_t index = condition.attack_index * experiment_.defences.size() + condition.defence_index;
    for (const Json& line : log_of("small-corpus", index)) {
      for (const Json& hit : line["hits"]) seen.insert(hit[0].get<std::string>());
    }
  }
  EXPECT_GE(seen.size(), 5U);
  EXPECT_LE(seen.size(), 12U);
  experiment_.corpus = 13;
  EXPECT_FALSE(run("small-corpus", one_).ok());
}

TEST_F(RunExperiment, AFinishedRunIsOnlySummarisedAgain) {
  ASSERT_TRUE(run("out", two_).ok());
  fs::remove_all(folder_.path("out") + "/work");
  const auto again = run("out", two_);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->asked, 0U);
  EXPECT_EQ(again->already, 600U);
  EXPECT_FALSE(fs::exists(folder_.path("out") + "/work/store"));
}

TEST_F(RunExperiment, AFolderOfAnotherExperimentIsRefused) {
  ASSERT_TRUE(run("out", two_, Progress::none(), {}, true).ok());
  const auto longer = run("out", two_);
  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.error().code, ErrorCode::kMismatch);
}

TEST_F(RunExperiment, EveryComparisonIsPairedAndAdjusted) {
  const auto done = run("out", two_);
  ASSERT_TRUE(done.ok());
  std::size_t against_clean = 0;
  for (const ComparisonRow& row : done->summary.comparisons) {
    EXPECT_EQ(row.result.queries, 50U);
    EXPECT_GE(row.p_holm, row.result.p);
    const auto& against = done->summary.conditions[row.against].condition;
    EXPECT_EQ(against.defence, "none");
    against_clean += against.attack == "none" ? 1 : 0;
    // Discordant pairs from the logs themselves.
    const auto a = log_of("out", row.against);
    const auto b = log_of("out", row.condition);
    const std::string metric = eval_metric_name(done->summary.metrics[row.metric]);
    std::size_t lost = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].at("query"), b[i].at("query"));
      lost += a[i].at("metrics").at(metric).get<double>() > b[i].at("metrics").at(metric).get<double>() ? 1 : 0;
    }
    EXPECT_EQ(row.result.only_first, lost);
  }
  EXPECT_EQ(against_clean, 2U * 11U);                                    // recall and MRR
  EXPECT_EQ(done->summary.comparisons.size(), 2U * 11U + 4U * 3U * 2U);  // and each defence under each attack
}

TEST_F(RunExperiment, SeveralAnsweringPassagesCountByGrade) {
  fs::create_directories(folder_.path("beir/qrels"));
  std::ofstream corpus(folder_.path("beir/corpus.jsonl"));
  std::ofstream queries(folder_.path("beir/queries.jsonl"));
  std::ofstream qrels(folder_.path("beir/qrels/test.tsv"));
  qrels << "query-id\tcorpus-id\tscore\n";
  for (int i = 0; i < 20; ++i) {
    for (const char* part : {"a", "b"}) {
      const std::string id = part + std::to_string(i);
      corpus << Json{{"_id", id}, {"title", ""}, {"text", "bridge" + std::to_string(i) + " " + part + " river"}}.dump()
             << '\n';
      qrels << 'q' << i << '\t' << id << '\t' << (part[0] == 'a' ? 2 : 1) << '\n';
    }
    queries << Json{{"_id", "q" + std::to_string(i)}, {"text", "bridge" + std::to_string(i) + " a"}}.dump() << '\n';
  }
  corpus.close();
  queries.close();
  qrels.close();
  auto read = parse_experiment(
      "name: b\ndata: {format: beir, path: beir}\ntop_k: 4\nmetrics: [recall@1, recall@4, success@1, map@4, "
      "poison-rank@4]\nattacks: [none, query-as-poison]\n",
      "b.yaml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  read->data.path = folder_.path("beir");
  EvalParts parts;
  parts.encoder = encoder_.get();
  parts.pool = &two_;
  const auto done = run_experiment(*read, parts, {folder_.path("out"), false}, Progress::none(), {});
  ASSERT_TRUE(done.ok()) << done.error().message;
  const auto& clean = done->summary.conditions[0].cells;
  std::ifstream log(folder_.path("out/queries/0-0-none-none.jsonl"));
  double recall = 0;
  double average = 0;
  for (std::string text; std::getline(log, text);) {
    const Json line = Json::parse(text);
    EXPECT_EQ(line["judged"].size(), 2U);
    EXPECT_EQ(line["gold"].get<std::string>()[0], 'a');  // the better grade
    double found = 0;
    double precision = 0;
    for (std::size_t h = 0; h < line["hits"].size(); ++h) {
      if (!line["judged"].contains(line["hits"][h][0].get<std::string>())) continue;
      precision += ++found / static_cast<double>(h + 1);
    }
    recall += found / 2;
    average += precision / 2;
  }
  EXPECT_NEAR(clean[1].mean, recall / 20, 1e-12);
  EXPECT_NEAR(clean[3].mean, average / 20, 1e-12);
  EXPECT_LE(clean[0].mean, .5);  // one of two at most
  EXPECT_GT(clean[2].mean, .9);
  EXPECT_EQ(clean[4].mean, 0);
  EXPECT_GT(done->summary.conditions[1].cells[4].mean, .5);
}

TEST_F(RunExperiment, MetricsOfAnsweringPassagesNeedADataSetThatKnowsThem) {
  std::ofstream(folder_.path("nq.jsonl")) << "{\"question\": \"who planned bridge1\", \"answer\": [\"x\"]}\n";
  for (const auto& [metric, fine] : {std::pair{"recall@1", false}, std::pair{"asr@1", true}}) {
    auto read = parse_experiment(
        std::string("name: b\ndata: {format: nq-open, path: x, corpus: {format: squad, path: y}}\nmetrics: [") +
            metric + "]\nattacks: [query-as-poison]\n",
        "b.yaml");
    ASSERT_TRUE(read.ok()) << read.error().message;
    EvalParts parts;
    parts.encoder = encoder_.get();
    parts.pool = &two_;
    read->data.path = folder_.path("nq.jsonl");
    read->data.corpus_path = folder_.path("squad.json");
    const EvalOptions options{folder_.path(std::string("out-") + metric), false};
    const auto done = run_experiment(*read, parts, options, Progress::none(), {});
    EXPECT_EQ(done.ok(), fine) << (done.ok() ? "" : done.error().message);
    if (!fine) {
      EXPECT_NE(done.error().message.find("recall@1 needs"), std::string::npos) << done.error().message;
    }
  }
}

TEST_F(RunExperiment, AQueryThatFailsIsLoggedAndCounted) {
  auto squad = Json::parse(small_squad());
  squad["data"][0]["paragraphs"][3]["qas"][0]["question"] = "   ";
  std::ofstream(folder_.path("squad.json")) << squad.dump();
  experiment_.questions = 0;
  const auto done = run("out", two_);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done->summary.conditions[0].failed, 1U);
  EXPECT_EQ(done->summary.conditions[0].queries, 79U);
}

TEST_F(RunExperiment, ABadDefenceIsToldBeforeTheCorpusIsRead) {
  experiment_.defences = {{DefenceChoice{"suppression", "{max_cosin: 0.9}"}}};
  test::StoppingProgress progress(1);  // the first passage that is reported would stop it
  const auto done = run("out", two_, progress, progress.stop.get_token());
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error().message.find("max_cosine"), std::string::npos) << done.error().message;
}

TEST(QueryLog, ALogOfOtherQueriesIsRefused) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path("log")) << "{\"query\":\"a\"}\n{\"query\":\"b\"}\n{\"que";
  const std::vector<std::string> queries = {"a", "b", "c"};
  EXPECT_EQ(*resume_log(folder.path("log"), queries), 2U);
  EXPECT_EQ(fs::file_size(folder.path("log")), 28U);
  EXPECT_EQ(resume_log(folder.path("log"), std::vector<std::string>{"a", "c"}).error().code, ErrorCode::kMismatch);
  EXPECT_EQ(*resume_log(folder.path("none"), queries), 0U);
}

}  // namespace
}  // namespace casemate
