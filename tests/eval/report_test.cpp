// The report's page: what a run says stands in it, hostile texts are text, it keeps its size, and its figures are those
// of the logs.
#include "casemate/eval/report.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "eval/report/plots.h"
#include "eval/report/sweeps.h"
#include "support/temporary_folder.h"

namespace casemate {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// Two attacks by two defences over `queries` queries; under the attack every even query is lost without a defence.
class ReportTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(folder_.path(name)).parent_path());
    std::ofstream(folder_.path(name)) << text;
  }

  static std::string lines(const std::vector<Json>& all) {
    std::string out;
    for (const Json& each : all) out += each.dump() + "\n";
    return out;
  }

  void make_run(const std::string& run, int queries, const std::string& passage = "A plain passage.",
                const std::string& question = "Who?") {
    Json summary = {{"experiment", "small"}, {"description", "A <b>run</b>"}, {"encoder", "tiny"}, {"seed", 7}};
    const std::vector<std::string> attacks = {"none", "query-as-poison"};
    const std::vector<std::string> defences = {"none", "suppression{max_cosine: 0.9}"};
    for (std::size_t a = 0; a < 2; ++a) {
      for (std::size_t d = 0; d < 2; ++d) {
        const std::string log = "queries/" + std::to_string(a) + "-" + std::to_string(d) + ".jsonl";
        std::vector<Json> rows;
        double hit = 0;
        for (int q = 0; q < queries; ++q) {
          const bool lost = a == 1 && d == 0 && q % 2 == 0;
          hit += lost ? 0 : 1;
          Json hits = Json::array({{"doc" + std::to_string(q), 0.75}, {"doc" + std::to_string(q + 1), 0.5}});
          if (lost) hits[0][0] = "casemate-attack/query-as-poison/0";
          rows.push_back({{"query", "q" + std::to_string(q)},
                          {"metrics", {{"recall@1", lost ? 0.0 : 1.0}, {"asr@1", lost ? 1.0 : 0.0}}},
                          {"gold", "doc" + std::to_string(q)},
                          {"hits", hits}});
        }
        write(run + "/" + log, lines(rows));
        const auto metric = [](double mean) {
          return Json{{"mean", mean}, {"interval", {0.1, 0.9}}, {"interval_kind", "Wilson"}};
        };
        summary["conditions"].push_back(
            {{"attack", attacks[a]},
             {"defence", defences[d]},
             {"queries", queries},
             {"planted", a},
             {"log", log},
             {"metrics", {{"recall@1", metric(hit / queries)}, {"asr@1", metric(1 - hit / queries)}}}});
      }
    }
    summary["comparisons"] = Json::array({{{"metric", "recall@1"},
                                           {"condition", "query-as-poison / none"},
                                           {"against", "none / none"},
                                           {"n", queries},
                                           {"difference", -0.5},
                                           {"interval", {-0.6, -0.4}},
                                           {"test", "McNemar, exact"},
                                           {"p", 0.001},
                                           {"p_holm", 0.0123},
                                           {"lost", queries / 2},
                                           {"won", 0}}});
    write(run + "/summary.json", summary.dump());
    std::vector<Json> questions;
    std::vector<Json> passages;
    for (int q = 0; q <= queries; ++q) {
      questions.push_back({{"query", "q" + std::to_string(q)},
                           {"question", question},
                           {"answers", {"x"}},
                           {"gold", "doc" + std::to_string(q)}});
      passages.push_back({{"id", "doc" + std::to_string(q)}, {"title", "T"}, {"text", passage}});
    }
    write(run + "/texts/questions.jsonl", lines(questions));
    write(run + "/texts/passages.jsonl", lines(passages));
    write(
        run + "/attacks/1-0-query-as-poison.jsonl",
        lines(
            {{{"id", "casemate-attack/query-as-poison/0"}, {"title", "P"}, {"text", passage}, {"changed", {{0, 4}}}}}));
  }

  std::string page_of(const std::string& run, const ReportOptions& options = {}) {
    const auto record = read_run_record(folder_.path(run));
    EXPECT_TRUE(record.ok()) << record.error().message;
    const auto page = make_report(std::span(&*record, 1), options);
    EXPECT_TRUE(page.ok()) << page.error().message;
    return page.ok() ? *page : "";
  }

  /// The data of the page's script, as a browser would parse it.
  static Json data_of(const std::string& page) {
    const std::string open = "data-run=\"0\">{";
    const std::size_t at = page.find(open);
    EXPECT_NE(at, std::string::npos);
    const std::size_t begin = at + open.size() - 1;
    return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  }

  test::TemporaryFolder folder_;
};

constexpr char kHostile[] =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)><!-- \x1b[31m \xe2\x80\xae &lt; ]]> {{body}}";

TEST_F(ReportTest, HostileTextsNeverBecomeMarkup) {
  make_run("run", 4, kHostile, kHostile);
  auto summary = Json::parse(std::ifstream(folder_.path("run/summary.json")));
  const std::string plain = "</h1><script>alert(3)</script><img src=y>";
  summary["experiment"] = plain;
  summary["description"] = plain;
  summary["encoder"] = plain;
  summary["conditions"][0]["attack"] = plain;
  summary["comparisons"][0]["condition"] = plain;
  write("run/summary.json", summary.dump());
  const std::string page = page_of("run");
  // The page's own script and its data are the only ones, and no image and no handler came in.
  const std::regex tag("<script[^>]*>");
  EXPECT_EQ(std::distance(std::sregex_iterator(page.begin(), page.end(), tag), std::sregex_iterator()), 2);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("alert(3)</script>"), std::string::npos);
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  // What the script gets is the text itself.
  const Json data = data_of(page);
  const std::string text = data["passages"][0][2];
  EXPECT_NE(text.find("</script><script>alert(1)</script>"), std::string::npos);
  EXPECT_NE(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("{{body}}"), std::string::npos);
}

TEST_F(ReportTest, InvalidUtf8InALogIsAnErrorWithItsPlace) {
  make_run("run", 4);
  write("run/texts/questions.jsonl", "{\"query\":\"q0\",\"question\":\"ok\"}\n{\"query\":\"\xff\"}\n");
  const auto record = read_run_record(folder_.path("run"));
  ASSERT_TRUE(record.ok());
  const auto page = make_report(std::span(&*record, 1));
  ASSERT_FALSE(page.ok());
  EXPECT_NE(page.error().message.find("questions.jsonl:2"), std::string::npos) << page.error().message;
}

TEST_F(ReportTest, OnlyItsOwnScriptAndStylesMayRunAndNothingLoads) {
  make_run("run", 4);
  const std::string page = page_of("run");
  EXPECT_NE(page.find("default-src 'none'; script-src 'sha256-"), std::string::npos);
  EXPECT_EQ(page.find("unsafe-inline"), std::string::npos);
  EXPECT_FALSE(std::regex_search(page, std::regex("(src|href)=\"(https?:)?//")));
  EXPECT_FALSE(std::regex_search(page, std::regex("\\sstyle=\"")));  // the policy would refuse it
}

TEST_F(ReportTest, FiguresAndTestsStandInTheTables) {
  make_run("run", 10);
  const std::string page = page_of("run");
  EXPECT_NE(page.find("<span class=\"value\">0.500</span><span class=\"interval\">[0.100, 0.900]</span>"),
            std::string::npos);
  for (const char* part : {"-0.5000", "[-0.6000, -0.4000]", "<td class=\"number\">5 / 0</td>", "0.0123 *", "McNemar"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_NE(page.find("<title id=\"r0-trade-utility-t\">"), std::string::npos);
}

TEST_F(ReportTest, SingleQueriesShowRankingGoldAndWhatWasPlanted) {
  make_run("run", 4);
  const Json data = data_of(page_of("run"));
  ASSERT_EQ(data["queries"].size(), 4U);
  const Json& line = data["conditions"][2]["lines"][0];  // the attack, undefended, query 0
  EXPECT_EQ(data["metrics"], Json::array({"asr@1", "recall@1"}));
  EXPECT_EQ(line[0], Json::array({1, 0}));
  const Json& first = data["passages"][line[1][0].get<std::size_t>()];
  EXPECT_EQ(first[0], "casemate-attack/query-as-poison/0");
  EXPECT_EQ(first[3], 1);
  EXPECT_EQ(first[4], Json::parse("[[0,4]]"));
  EXPECT_EQ(data["passages"][data["queries"][0]["g"].get<std::size_t>()][0], "doc0");
}

TEST_F(ReportTest, AThousandQueriesUnderTwelveConditionsStayBelowThreeMegabytes) {
  // As large as SQuAD makes them: passages of 735 characters, ten in a ranking.
  Json summary = {{"experiment", "large"}, {"description", ""}};
  std::vector<Json> passages;
  for (int i = 0; i < 2067; ++i)
    passages.push_back({{"id", "squad-" + std::to_string(i) + "0123456789"},
                        {"title", "Some title"},
                        {"text", std::string(735, 'x')}});
  write("run/texts/passages.jsonl", lines(passages));
  std::vector<Json> questions;
  for (int q = 0; q < 1000; ++q)
    questions.push_back(
        {{"query", "q" + std::to_string(q)}, {"question", std::string(60, 'q')}, {"answers", {"one", "two"}}});
  write("run/texts/questions.jsonl", lines(questions));
  for (int c = 0; c < 12; ++c) {
    std::vector<Json> rows;
    for (int q = 0; q < 1000; ++q) {
      Json hits = Json::array();
      for (int h = 0; h < 10; ++h)
        hits.push_back({"squad-" + std::to_string((q * 7 + c * 13 + h * 101) % 2067) + "0123456789", 0.123456 + h});
      rows.push_back({{"query", "q" + std::to_string(q)},
                      {"metrics", {{"recall@5", q % 2}, {"mrr@10", 0.3333}, {"asr@5", 0}}},
                      {"hits", hits}});
    }
    const std::string log = "queries/" + std::to_string(c) + ".jsonl";
    write("run/" + log, lines(rows));
    const Json metric = {{"mean", 0.5}, {"interval", {0.4, 0.6}}, {"interval_kind", "Wilson"}};
    summary["conditions"].push_back({{"attack", "a" + std::to_string(c / 3)},
                                     {"defence", "d" + std::to_string(c % 3)},
                                     {"queries", 1000},
                                     {"log", log},
                                     {"metrics", {{"recall@5", metric}, {"mrr@10", metric}, {"asr@5", metric}}}});
  }
  write("run/summary.json", summary.dump());
  const std::string page = page_of("run");
  EXPECT_LT(page.size(), 3'000'000U);
  EXPECT_EQ(data_of(page)["queries"].size(), 1000U);
  ReportOptions small;
  small.max_bytes = 400'000;
  const std::string cut = page_of("run", small);
  EXPECT_LT(cut.size(), 400'000U);
  EXPECT_LT(data_of(cut)["queries"].size(), 1000U);
  EXPECT_EQ(data_of(cut)["of"], 1000);
}

TEST_F(ReportTest, QueriesThatDifferComeFirstWhereNotAllFit) {
  make_run("run", 1000, std::string(600, 'x'));
  ReportOptions small;
  small.max_bytes = 200'000;
  const Json data = data_of(page_of("run", small));
  ASSERT_LT(data["queries"].size(), 500U);
  ASSERT_GT(data["queries"].size(), 0U);
  for (const Json& query : data["queries"]) EXPECT_EQ(std::stoi(query["id"].get<std::string>().substr(1)) % 2, 0);
}

TEST_F(ReportTest, SeveralRunsAreComparedQueryByQuery) {
  make_run("one", 10);
  make_run("two", 10);
  // The second run finds every query under the attack that the first one lost.
  fs::copy_file(folder_.path("two/queries/0-0.jsonl"), folder_.path("two/queries/1-0.jsonl"),
                fs::copy_options::overwrite_existing);
  const auto one = read_run_record(folder_.path("one"));
  const auto two = read_run_record(folder_.path("two"));
  ASSERT_TRUE(one.ok() && two.ok());
  const auto rows = compare_runs(*one, *two);
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  const auto row = std::find_if(rows->begin(), rows->end(), [](const RunDifference& each) {
    return each.metric == "recall@1" && each.condition == "query-as-poison / none";
  });
  ASSERT_NE(row, rows->end());
  EXPECT_EQ(row->result.only_second, 5U);
  EXPECT_EQ(row->result.only_first, 0U);
  EXPECT_NEAR(row->result.p, 2 * 1.0 / 32, 1e-12);  // five of five one way: twice 2^-5
  const RunRecord both[] = {*one, *two};
  const auto page = make_report(both);
  ASSERT_TRUE(page.ok());
  EXPECT_NE(page->find("Between the runs"), std::string::npos);
}

TEST_F(ReportTest, MissingAndBrokenRunsSayWhatToDo) {
  EXPECT_NE(read_run_record(folder_.path("none")).error().message.find("casemate eval"), std::string::npos);
  write("broken/summary.json", "{\"conditions\": 3}");
  EXPECT_EQ(read_run_record(folder_.path("broken")).error().code, ErrorCode::kInvalidInput);
  write("torn/summary.json", "{\"conditions\": [");
  EXPECT_EQ(read_run_record(folder_.path("torn")).error().code, ErrorCode::kInvalidInput);
  EXPECT_FALSE(make_report({}).ok());
}

TEST_F(ReportTest, ARunWithoutTextsOrLogsStillHasItsTables) {
  make_run("run", 4);
  fs::remove_all(folder_.path("run/texts"));
  fs::remove_all(folder_.path("run/queries"));
  EXPECT_NE(page_of("run").find("query-as-poison"), std::string::npos);
}

TEST_F(ReportTest, PublishedFiguresStandBesideOursAndAreLabelled) {
  make_run("run", 4);
  write(
      "run/published.json",
      R"({"figures":[{"attack":"query-as-poison","defence":"none","metric":"asr@1","value":0.63,"source":"table 8 <x>"}]})");
  const std::string page = page_of("run");
  EXPECT_NE(page.find("other models and another corpus"), std::string::npos);
  EXPECT_NE(page.find("table 8 &lt;x&gt;"), std::string::npos);
}

TEST_F(ReportTest, RunsAboutAnswersAreComparedFromTheirLogsAndShowCertificates) {
  const auto share = [](int count, int of) {
    return Json{{"count", count}, {"of", of}, {"rate", double(count) / of}, {"low", 0.1}, {"high", 0.9}};
  };
  Json summary = {{"experiment", "answers"}, {"description", ""}, {"model", "tiny"}, {"seed", 1}};
  const char* methods[] = {"vanilla", "keyword"};
  const char* attacks[] = {"none", "pia"};
  for (int m = 0; m < 2; ++m) {
    for (int a = 0; a < 2; ++a) {
      std::vector<Json> rows;
      for (int q = 0; q < 8; ++q) {
        const bool fooled = m == 0 && a == 1 && q < 6;  // vanilla follows six of eight injections
        Json row = {{"query", "q" + std::to_string(q)},
                    {"answer", fooled ? "<i>wrong</i>" : "right"},
                    {"right", !fooled},
                    {"valid", true}};
        if (a == 1) row["attack_success"] = fooled;
        rows.push_back(row);
      }
      // As run_answer_experiment names them.
      write(
          "run/queries/" + std::to_string(m) + "-" + std::to_string(a) + "-" + methods[m] + "-" + attacks[a] + ".jsonl",
          lines(rows));
      const int fooled = m == 0 && a == 1 ? 6 : 0;
      summary["conditions"].push_back({{"method", methods[m]},
                                       {"attack", attacks[a]},
                                       {"right", share(8 - fooled, 8)},
                                       {"attack_success", share(fooled, 8)}});
    }
  }
  summary["certified"] = Json::array({{{"method", "keyword"},
                                       {"budget", "injection 1"},
                                       {"certified", share(5, 8)},
                                       {"attacks_tried", 5},
                                       {"broken", 1}}});
  write("run/summary.json", summary.dump());
  const auto run = read_run_record(folder_.path("run"));
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(run->kind, "answers");
  const auto row = std::find_if(run->differences.begin(), run->differences.end(), [](const RunDifference& each) {
    return each.metric == "attack_success" && each.condition == "pia / keyword";
  });
  ASSERT_NE(row, run->differences.end());
  EXPECT_EQ(row->against, "pia / vanilla");
  EXPECT_EQ(row->result.only_first, 6U);
  EXPECT_NEAR(row->result.p, 2 * 1.0 / 64, 1e-12);
  const std::string page = page_of("run");
  EXPECT_NE(page.find("<td class=\"number alarm\">1</td>"), std::string::npos);
  EXPECT_EQ(page.find("<i>wrong"), std::string::npos);
  EXPECT_EQ(data_of(page)["conditions"].size(), 4U);
}

TEST_F(ReportTest, CostsStandInThePageWhereTheyAreAskedFor) {
  make_run("run", 4);
  write("run/timings.json",
        R"({"none / none":{"queries":4,"seconds":1,"p50_ms":2.25,"p95_ms":8.5,"threads":2},"gone / none":{"p50_ms":1}})");
  EXPECT_EQ(page_of("run").find(">Cost<"), std::string::npos);
  ReportOptions options;
  options.with_costs = true;
  const std::string page = page_of("run", options);
  EXPECT_NE(page.find("<td>2.2</td><td>8.5</td><td>2</td>"), std::string::npos);
  EXPECT_EQ(page.find("gone / "), std::string::npos);
  write("run/timings.json", "[not JSON");
  EXPECT_EQ(page_of("run", options).find(">Cost<"), std::string::npos);
}

TEST_F(ReportTest, CostsOfAnswersAreThoseOfTheirLogs) {
  make_run("run", 4);
  fs::remove(folder_.path("run/timings.json"));
  write("run/costs/0-0.jsonl",
        "{\"query\":\"a\",\"seconds\":1,\"decoded_tokens\":100,\"reused_tokens\":0}\nbroken\n"
        "{\"query\":\"b\",\"seconds\":3,\"decoded_tokens\":300,\"reused_tokens\":50}\n"
        "{\"query\":\"c\",\"seconds\":2,\"decoded_tokens\":200,\"reused_tokens\":10}\n");
  ReportOptions options;
  options.with_costs = true;
  // Of three answers the median is the second and 95 in 100 is not below the third: ranks from 0 are 1 and floor(1.9).
  EXPECT_NE(page_of("run", options).find("<td>3</td><td>2000.0</td><td>2000.0</td><td>200</td><td>20</td>"),
            std::string::npos);
}

TEST_F(ReportTest, RunsAboutLeakageHaveUtilityAndLeakageByMode) {
  write("run/summary.json", R"({"kind": "leakage", "utility": [{"mode": "vanilla", "questions": 8, "f1": 0.5},
      {"mode": "kfs-fact", "questions": 8, "f1": 0.4}], "leakage": [{"mode": "vanilla", "case": "targeted", "eed": 0.9},
      {"mode": "kfs-fact", "case": "targeted", "eed": 0.1}, 7]})");
  const auto run = read_run_record(folder_.path("run"));
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(run->metrics, (std::vector<std::string>{"f1", "leak_eed"}));
  EXPECT_EQ(run->find("targeted", "kfs-fact")->figures.at("leak_eed").value, 0.1);
  EXPECT_NE(page_of("run").find("lower is better"), std::string::npos);
}

TEST(ParetoFront, KeepsWhatNoOtherBeats) {
  const std::vector<PlotPoint> points = {{"a", .9, .1, {}, {}},
                                         {"b", .8, .8, {}, {}},
                                         {"c", .7, .7, {}, {}},
                                         {"d", .8, .8, {}, {}},
                                         {"e", .9, .05, {}, {}}};
  EXPECT_EQ(pareto_front(points), (std::vector<bool>{true, true, false, true, false}));
}

TEST(Sweeps, AreOptionsThatDifferAloneInOneNumber) {
  RunRecord run;
  run.attacks = {"none", "near{rate: 0.1, edits: 1}", "near{rate: 0.05, edits: 1}", "near{rate: 0.1, edits: 2}",
                 "noise{place: start}"};
  run.defences = {"none", "a{k: 1} + b"};
  run.metrics = {"recall@5"};
  const auto sweeps = find_sweeps(run);
  ASSERT_EQ(sweeps.size(), 2U);
  EXPECT_EQ(sweeps[0].option, "rate");
  EXPECT_EQ(sweeps[0].of, "near{edits: 1}");
  EXPECT_EQ(sweeps[0].values[0].at, 0.05);
  EXPECT_EQ(sweeps[1].option, "edits");
  EXPECT_TRUE(sweep_lines(run, sweeps[0], "recall@5").empty());
}

}  // namespace
}  // namespace casemate
