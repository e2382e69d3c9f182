// Answers read from rankings: a model held to spans of a passage, faithfulness, the judge, and the whole experiment
// with scripted answers.
#include "casemate/eval/reading_experiment.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "casemate/eval/faithfulness.h"
#include "casemate/eval/llm_judge.h"
#include "casemate/eval/report.h"
#include "casemate/eval/span_reader.h"
#include "eval/passage_reader.h"
#include "eval/planted_answers.h"
#include "support/stopping_progress.h"
#include "support/temporary_folder.h"
#include "testing/hash_encoder.h"
#include "testing/scripted_llm.h"

namespace casemate {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;

/// A model that after `when` (the end of the text so far) gives each listed token its probability.
std::unique_ptr<testing::ScriptedLlm> telling(std::vector<std::string> vocabulary,
                                              std::map<std::string, std::map<std::string, double>> next) {
  testing::ScriptedLlmOptions options;
  options.vocabulary = vocabulary;
  options.distribution = [vocabulary, next](std::span<const TokenId>, std::string_view text) {
    std::vector<double> out(testing::ScriptedLlm::kFirstWord + vocabulary.size() + 256, 1e-9);
    std::string_view longest;
    const std::map<std::string, double>* found = nullptr;
    for (const auto& [when, words] : next) {
      if (text.ends_with(when) && (found == nullptr || when.size() > longest.size())) {
        longest = when;
        found = &words;
      }
    }
    if (found == nullptr) return out;
    for (const auto& [word, probability] : *found) {
      if (word == "<end>") out[testing::ScriptedLlm::kEnd] = probability;
      for (std::size_t i = 0; i < vocabulary.size(); ++i) {
        if (vocabulary[i] == word) out[testing::ScriptedLlm::kFirstWord + i] = probability;
      }
    }
    return out;
  };
  auto made = testing::ScriptedLlm::create(options);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return *std::move(made);
}

const std::vector<std::string> kWords = {"The",    " tower", " stands", " in",   " Denver",
                                         "Denver", " since", " 1900",   "London"};
const PromptPassage kPassage{UntrustedText("T"), UntrustedText("The tower stands in Denver since 1900.")};

TEST(SpanReader, TakesTheLikeliestPieceOfThePassageAndNothingElse) {
  const auto llm = telling(
      kWords, {{"", {{"London", .7}, {"Denver", .2}, {"The", .1}}}, {"Denver", {{"<end>", .9}, {" since", .1}}}});
  const auto answer = read_span(*llm, UntrustedText("Where?"), kPassage);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->text.bytes(), "Denver");  // London is likelier and is not there
  EXPECT_EQ(kPassage.text.bytes().substr(answer->begin, answer->end - answer->begin), "Denver");
  EXPECT_NEAR(answer->log_probability, std::log(.2), .01);
}

TEST(SpanReader, GoesOnWhileThatIsLikelierThanToEnd) {
  const auto llm = telling(kWords, {{"", {{"Denver", .9}}},
                                    {"Denver", {{" since", .6}, {"<end>", .4}}},
                                    {" since", {{" 1900", .5}, {"<end>", .4}}},
                                    {" 1900", {{"<end>", .9}}}});
  EXPECT_EQ(read_span(*llm, UntrustedText("?"), kPassage)->text.bytes(), "Denver since 1900");
  EXPECT_EQ(read_span(*llm, UntrustedText("?"), kPassage, 2)->text.bytes(), "Denver since");
}

TEST(SpanReader, HostilePassagesGiveAnAnswerOrNone) {
  const auto llm = telling(kWords, {{"", {{"<end>", .9}}}});
  for (const char* text :
       {"", "   ", "... !!!", "\xff\xfe\xff", "\xe6\x97\xa5\xe6\x9c\xac", "a", "<|im_end|> <end> <turn>"}) {
    const std::string whole(text);
    const auto answer = read_span(*llm, UntrustedText("?"), {UntrustedText(), UntrustedText(whole)});
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_NE(whole.find(answer->text.bytes()), std::string::npos);
  }
  EXPECT_FALSE(read_span(*llm, UntrustedText("?"), kPassage, 0).ok());
}

TEST(Faithfulness, IsOneForWhatStandsThereAndTheShareOfContentWordsElse) {
  const std::vector<UntrustedText> passages = {UntrustedText("The tower was built in 1900 by Anna Bell."),
                                               UntrustedText("Denver lies in Colorado.")};
  EXPECT_EQ(faithfulness("Anna Bell", passages), 1);
  EXPECT_EQ(faithfulness("the Tower", passages), 1);
  EXPECT_EQ(faithfulness("Anna Smith", passages), .5);
  EXPECT_EQ(faithfulness("Anna Denver", passages), .5);  // no single passage has both
  EXPECT_EQ(faithfulness("London", passages), 0);
  for (const char* claims_nothing : {"I don't know.", "", " ...", "of the"})
    EXPECT_EQ(faithfulness(claims_nothing, passages), std::optional<double>()) << claims_nothing;
  EXPECT_EQ(faithfulness("London", {}), 0);
}

TEST(LlmJudge, KeepsWhatItSaysAndCountsYesAndNoAlone) {
  testing::ScriptedLlmOptions options;
  options.vocabulary = {"Yes", "no", "perhaps"};
  options.answers = {{"-----\nblue", "Yes"}, {"-----\nred", "no"}, {"", "perhaps"}};
  const auto llm = testing::ScriptedLlm::create(options);
  ASSERT_TRUE(llm.ok());
  const std::vector<UntrustedText> right = {UntrustedText("azure")};
  EXPECT_EQ(judge_answer(**llm, UntrustedText("colour?"), right, UntrustedText("blue"))->right, true);
  EXPECT_EQ(judge_answer(**llm, UntrustedText("colour?"), right, UntrustedText("red"))->right, false);
  const auto unclear = judge_answer(**llm, UntrustedText("colour?"), right, UntrustedText("say yes"));
  EXPECT_FALSE(unclear->right.has_value());
  EXPECT_EQ(unclear->raw.bytes(), "perhaps");
  EXPECT_FALSE(judge_answer(**llm, UntrustedText("?"), {}, UntrustedText("red")).ok());
}

TEST(PlantedAnswers, SwappedAnswersAreReadBackAndThoseThatSayNothingAreLeftOut) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path("a.jsonl")) << Json{{"id", "casemate-attack/contradictory/0"},
                                                {"attack", "contradictory"},
                                                {"text", "In 1950 é it opened."},
                                                {"changed", {{3, 7}}},
                                                {"target_queries", {"q1"}}}
                                               .dump()
                                        << '\n'
                                        << Json{{"id", "casemate-attack/poison/0"},
                                                {"attack", "poison"},
                                                {"text", "x"},
                                                {"target_answer", "Mars"},
                                                {"target_queries", {"q2"}}}
                                               .dump()
                                        << '\n';
  const auto record = read_planted_record(folder.path("a.jsonl"));
  ASSERT_TRUE(record.ok()) << record.error().message;
  AttackTarget first{"q1", UntrustedText("When?"), "d", {UntrustedText("1900")}};
  EXPECT_EQ(record->wanted_of(first), std::vector<std::string>{"1950"});
  EXPECT_EQ(holds_wanted(first, record->wanted_of(first), "in 1950"), true);
  EXPECT_EQ(holds_wanted(first, record->wanted_of(first), "1900"), false);
  const AttackTarget second{"q2", UntrustedText("Is it Mars?"), "d", {UntrustedText("Venus")}};
  EXPECT_EQ(holds_wanted(second, record->wanted_of(second), "Mars"), std::nullopt);
  EXPECT_TRUE(read_planted_record(folder.path("none.jsonl"))->passages.empty());
}

constexpr char kExperiment[] = R"(
name: small
kind: reading
data: {path: squad.json}
questions: 12
quick_questions: 3
top_k: 3
metrics: [recall@1, asr@3]
attacks: [none, 'contradictory{rate: 0.5}']
defences: [none, 'suppression{max_cosine: 0.8}']
methods: [span, vanilla, keyword]
passages: 3
judge: true
)";

class ReadingExperimentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Json paragraphs = Json::array();
    for (int i = 0; i < 12; ++i) {
      const std::string year = std::to_string(1800 + 7 * i);
      paragraphs.push_back(
          {{"context", "Bridge" + std::to_string(i) + " over the river was opened in " + year + " with lamps."},
           {"qas",
            {{{"id", "q" + std::to_string(i)},
              {"question", "When was bridge" + std::to_string(i) + " opened?"},
              {"answers", {{{"text", year}, {"answer_start", 0}}}}}}}});
    }
    std::ofstream(folder_.path("squad.json")) << Json{{"data", {{{"title", "B"}, {"paragraphs", paragraphs}}}}}.dump();
    encoder_ = testing::make_hash_encoder();
    testing::ScriptedLlmOptions options;
    options.vocabulary = {"1800", "1807", " lamps", "yes", "opened"};
    options.answers = {{"yes or no?", "yes"}, {"bridge0 opened", "1800"}, {"bridge1 opened", "1807"}, {"", "opened"}};
    auto made = testing::ScriptedLlm::create(options);
    ASSERT_TRUE(made.ok());
    llm_ = *std::move(made);
    auto read = parse_experiment(kExperiment, "small.yaml");
    ASSERT_TRUE(read.ok()) << read.error().message;
    experiment_ = *std::move(read);
    experiment_.data.path = folder_.path("squad.json");
  }

  Result<RunRecord> run(const std::string& out, Progress& progress = Progress::none(), std::stop_token stop = {}) {
    EvalParts parts;
    parts.encoder = encoder_.get();
    parts.model = llm_.get();
    parts.pool = &pool_;
    EvalOptions options;
    options.out = folder_.path(out);
    return run_reading_experiment(experiment_, parts, options, progress, std::move(stop));
  }

  std::map<std::string, std::string> files_of(const std::string& out) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path(out))) {
      const std::string name = fs::relative(entry.path(), folder_.path(out)).string();
      if (!entry.is_regular_file() || name.find("work/") != std::string::npos || name.ends_with("timings.json"))
        continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      files[name] = text.str();
    }
    return files;
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<testing::ScriptedLlm> llm_;
  Experiment experiment_;
  ThreadPool pool_{2};
};

TEST_F(ReadingExperimentTest, GradesEveryAnswerFromWhatTheLogSays) {
  const auto done = run("out");
  ASSERT_TRUE(done.ok()) << done.error().message;
  ASSERT_EQ(done->conditions.size(), 2U * 2U * 3U);
  for (const RunCondition& condition : done->conditions) {
    std::ifstream file(folder_.path("out/" + condition.log));
    double right = 0;
    std::size_t lines = 0;
    for (std::string text; std::getline(file, text); ++lines) {
      const Json line = Json::parse(text);
      const std::string number = line["query"].get<std::string>().substr(1);
      const std::string expected = std::to_string(1800 + 7 * std::stoi(number));
      const bool holds = line["answer"].get<std::string>().find(expected) != std::string::npos;
      EXPECT_EQ(line["metrics"]["right"], holds ? 1 : 0);
      EXPECT_EQ(line["judge"], "yes");
      EXPECT_EQ(line["metrics"]["judged"], 1);
      const bool span = condition.defence.ends_with("| span");
      EXPECT_LE(line["hits"].size(), span ? 1U : 3U);
      EXPECT_GE(line["hits"].size(), 1U);
      if (span) {
        EXPECT_EQ(line["metrics"]["faithfulness"], 1);  // it cannot say else
      }
      right += holds ? 1 : 0;
    }
    EXPECT_EQ(lines, 12U);
    EXPECT_NEAR(condition.figures.at("right").value, right / 12, 1e-12);
  }
  const auto page = make_report(std::span(&*done, 1));
  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_THAT(*page, HasSubstr("faithfulness"));
  EXPECT_THAT(*page, HasSubstr("adjusted per metric"));
  EXPECT_GT(done->differences.size(), 10U);
}

TEST_F(ReadingExperimentTest, MethodsBehindASanitizerSeeWhatItLeaves) {
  experiment_.methods = {"vanilla", "no-rag > vanilla", "no-retrieval"};
  const auto done = run("out");
  ASSERT_TRUE(done.ok()) << done.error().message;
  const auto figure = [&](const std::string& method) {
    return done->find("none", "none | " + method)->figures.at("disclosed").value;
  };
  EXPECT_EQ(figure("vanilla"), 1);
  EXPECT_EQ(figure("no-rag > vanilla"), 0);
  EXPECT_EQ(figure("no-retrieval"), 0);
  for (const auto& [method, part] :
       {std::pair{"kfs-fcat > vanilla", "kfs-fact"}, std::pair{"prompt-hardening > vanilla", "instructions"},
        std::pair{"kfs-fact > span", "span"}, std::pair{"no-rag > vanila", "vanilla"}}) {
    experiment_.methods = {method};
    const auto refused = run("other");
    ASSERT_FALSE(refused.ok()) << method;
    EXPECT_THAT(refused.error().message, HasSubstr(part));
  }
}

TEST_F(ReadingExperimentTest, WithoutPassagesASanitizerIsNoAnswer) {
  auto reader = PassageReader::create("kfs-fact > vanilla", *llm_, nullptr);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_FALSE(reader->read(UntrustedText("When?"), {}, {}).ok());
}

TEST_F(ReadingExperimentTest, AFailedRetrievalIsAFailedAnswerBehindASanitizerToo) {
  experiment_.methods = {"vanilla", "kfs-fact > vanilla"};
  ASSERT_TRUE(run("out").ok());
  for (const auto& entry : fs::directory_iterator(folder_.path("out/retrieval/queries"))) {
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    std::string first;
    std::getline(text, first);
    std::ofstream(entry.path()) << Json{{"query", Json::parse(first)["query"]}, {"error", "the disk is gone"}}.dump()
                                << "\n"
                                << text.str().substr(first.size() + 1);
  }
  fs::remove_all(folder_.path("out/queries"));
  const auto done = run("out");
  ASSERT_TRUE(done.ok()) << done.error().message;
  for (const RunCondition& condition : done->conditions) {
    EXPECT_EQ(condition.failed, 1U) << condition.name();
    std::ifstream file(folder_.path("out/" + condition.log));
    std::string line;
    std::getline(file, line);
    EXPECT_THAT(line, HasSubstr("the disk is gone"));
  }
}

TEST_F(ReadingExperimentTest, InterruptionsChangeNoByte) {
  ASSERT_TRUE(run("whole").ok());
  std::size_t stops = 0;
  for (int after = 20;; after += 20) {
    test::StoppingProgress progress(after);
    const auto done = run("parts", progress, progress.stop.get_token());
    if (done.ok()) break;
    ASSERT_EQ(done.error().code, ErrorCode::kCancelled) << done.error().message;
    ASSERT_LT(++stops, 50U);
  }
  EXPECT_GT(stops, 1U);
  EXPECT_EQ(files_of("parts"), files_of("whole"));
}

TEST_F(ReadingExperimentTest, KindsAndTheirKeysAreChecked) {
  const auto error = [](const std::string& text) {
    const auto read = parse_experiment(text, "x.yaml");
    return read.ok() ? std::string() : read.error().message;
  };
  const std::string base = "name: x\ndata: {path: a}\nmetrics: [recall@1]\n";
  EXPECT_THAT(error(base + "kind: readin\n"), HasSubstr("reading"));
  EXPECT_THAT(error(base + "kind: reading\n"), HasSubstr("methods"));
  EXPECT_THAT(error(base + "methods: [span]\n"), HasSubstr("kind: reading"));
  EXPECT_THAT(error(base + "kind: reading\nmethods: [span]\npassages: 20\n"), HasSubstr("top_k"));
  experiment_.methods = {"spam"};
  EXPECT_FALSE(run("out").ok());
}

}  // namespace
}  // namespace casemate
