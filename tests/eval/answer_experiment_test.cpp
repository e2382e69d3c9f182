#include "casemate/eval/answer_experiment.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "casemate/core/file_system.h"
#include "casemate/eval/answer_set.h"
#include "eval/answer_judge.h"
#include "support/temporary_folder.h"
#include "testing/scripted_llm.h"

namespace casemate {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::SizeIs;

json record(const std::string& id, int red, int blue) {
  json context = json::array();
  for (int i = 0; i < red; ++i) context.push_back({{"title", "t"}, {"text", "red"}});
  for (int i = 0; i < blue; ++i) context.push_back({{"title", "t"}, {"text", "blue"}});
  return {{"question", "colour of " + id + "?"}, {"correct answer", {"red"}},   {"incorrect answer", "green"},
          {"incorrect_context", {"green"}},      {"choices", {"red", "green"}}, {"choices answer", "0"},
          {"expanded answer", json::array()},    {"context", context},          {"question id", id}};
}

/// Answers with the last colour that its passage names, or what the hints say.
std::unique_ptr<testing::ScriptedLlm> model() {
  testing::ScriptedLlmOptions options;
  options.vocabulary = {"red", "green", "blue", "A", "B", "I don't know"};
  options.answers = {{"Hints: red", "red"},
                     {"Hints: green", "green"},
                     {"exactly: green", "green"},
                     {"exactly: B", "B"},
                     {"green several", "B"},
                     {"green green", "green"},
                     {"is green", "B"},
                     {"blue\n\nQuestion: colour", "blue"},
                     {"with the letter only", "A"},
                     {"red\n\nQuestion: colour", "red"},
                     {"", "I don't know"}};
  auto made = testing::ScriptedLlm::create(options);
  EXPECT_TRUE(made.ok());
  return *std::move(made);
}

Result<AnswerExperiment> parse(const std::string& yaml) {
  const auto root = YamlValue::parse(yaml, "x.yaml");
  if (!root) return root.error();
  EXPECT_TRUE(is_answer_experiment(*root));
  return read_answer_experiment(*root);
}

constexpr const char* kYaml =
    "name: colours\nkind: answers\ndata: {path: set.json}\npassages: 6\n"
    "methods: [vanilla, no-retrieval, keyword, decoding, voting]\n"
    "attacks: [pia, 'poison{place: first}', 'pia{count: 5}']\n"
    "certify: {malicious: [1, 2], threats: [injection, modification]}\nlive: true\n";

class AnswerExperimentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const json set = {record("q1", 6, 0), record("q2", 5, 1), record("q3", 3, 3)};
    write("set.json", set.dump());
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path(name), std::ios::binary) << text;
  }
  Result<AnswerRun> run(const std::string& out, std::stop_token stop = {}) {
    const auto experiment = parse(kYaml);
    EXPECT_TRUE(experiment.ok()) << experiment.error().message;
    const auto llm = model();
    return run_answer_experiment(*experiment, *llm, {folder_.path("set.json"), folder_.path(out), false},
                                 Progress::none(), std::move(stop));
  }
  std::string content(const std::string& name) const { return read_file(folder_.path(name)).value(); }
  /// The log of the clean condition whose method's name holds `part`.
  std::string first_log(const std::string& out, const std::string& part) const {
    for (const auto& file : std::filesystem::directory_iterator(folder_.path(out + "/queries"))) {
      const std::string name = file.path().filename().string();
      if (name.find(part) != std::string::npos && name.find("none") != std::string::npos) return name;
    }
    return "";
  }

  test::TemporaryFolder folder_;
};

TEST_F(AnswerExperimentTest, MeasuresAnswersAttacksAndCertificatesOfEachMethod) {
  const auto done = run("out");
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done->asked, 3U * 5U * 4U);
  const auto condition = [&](const std::string& method, const std::string& attack) {
    for (const AnswerCondition& each : done->summary.conditions) {
      if (each.method == method && each.attack == attack) return each;
    }
    ADD_FAILURE() << method << " / " << attack;
    return AnswerCondition{};
  };
  EXPECT_EQ(condition("keyword", "none").right.count, 3U);
  // One prompt with all passages follows the injection; isolated groups do not, unless most of them are malicious.
  EXPECT_EQ(condition("vanilla", "pia").attack_success.count, 3U);
  for (const char* method : {"keyword", "decoding", "voting"}) {
    EXPECT_EQ(condition(method, "pia").attack_success.count, 0U) << method;
    EXPECT_EQ(condition(method, "pia{count: 5}").attack_success.count, 3U) << method;
  }
  EXPECT_EQ(condition("no-retrieval", "none").declined.count, 3U);
  std::uint64_t certified = 0;
  for (const CertifiedShare& each : done->summary.certified) {
    EXPECT_EQ(each.broken, 0U) << each.method << ' ' << each.budget;
    EXPECT_EQ(each.certified.of, 3U);
    certified += each.certified.count;
    EXPECT_TRUE(each.certified.count == 0 || each.tested > 0) << each.method << ' ' << each.budget;
  }
  EXPECT_GT(certified, 0U);
  EXPECT_THAT(done->summary.certified, SizeIs(3 * (4 + 2)));
}

TEST_F(AnswerExperimentTest, LongTextHasScoresAndTheLeastOfThemUnderAttackAndSweepsHaveTables) {
  const json line = {{"id", "q1"},
                     {"question", "colour of it?"},
                     {"facts", {"red", "blue"}},
                     {"wrong_answer", "green"},
                     {"passages", {"red", "red", "red", "red", "red", "red"}}};
  write("set.jsonl", line.dump() + "\n");
  const auto experiment = parse(
      "name: long\nkind: answers\ndata: {format: jsonl, path: set.jsonl}\npassages: 6\n"
      "methods: ['vanilla{task: long-text}', {name: decoding, task: long-text, max_new_tokens: 4, eta: [0, 1]}]\n"
      "attacks: [pia]\ncertify: {malicious: [1, 7], threats: [injection], max_steps: 50}\n");
  EXPECT_FALSE(experiment.ok());  // seven of six passages
  const auto fits = parse(
      "name: long\nkind: answers\ndata: {format: jsonl, path: set.jsonl}\npassages: 6\n"
      "methods: ['vanilla{task: long-text}', {name: decoding, task: long-text, max_new_tokens: 4, eta: [0, 1]},\n"
      "          'decoding{task: long-text, max_new_tokens: 4, passages: 2}']\n"
      "attacks: [pia]\ncertify: {malicious: [1, 3], threats: [injection], max_steps: 50}\n");
  ASSERT_TRUE(fits.ok()) << fits.error().message;
  EXPECT_EQ(fits->max_steps, 50);
  const auto llm = model();
  const auto done = run_answer_experiment(*fits, *llm, {folder_.path("set.jsonl"), folder_.path("long"), false},
                                          Progress::none(), {});
  ASSERT_TRUE(done.ok()) << done.error().message;
  const auto& conditions = done->summary.conditions;
  const auto clean = std::find_if(conditions.begin(), conditions.end(), [](const AnswerCondition& each) {
    return each.method == "decoding{task: long-text, max_new_tokens: 4, eta: 0}" && each.attack == "none";
  });
  ASSERT_NE(clean, conditions.end());
  ASSERT_TRUE(clean->score);
  EXPECT_DOUBLE_EQ(clean->score->mean, 0.5);  // red and not blue
  EXPECT_EQ(clean->right.count, 1U);
  const auto& certified = done->summary.certified;
  const auto one = std::find_if(certified.begin(), certified.end(), [](const CertifiedShare& each) {
    return each.method == "decoding{task: long-text, max_new_tokens: 4, eta: 0}" && each.budget == "injection 1";
  });
  ASSERT_NE(one, certified.end());
  ASSERT_TRUE(one->tau);
  EXPECT_DOUBLE_EQ(one->tau->mean, 0.5);
  EXPECT_EQ(one->certified.count, 1U);
  EXPECT_EQ(one->broken, 0U);
  const std::string table = content("long/summary.md");
  EXPECT_THAT(table, HasSubstr("decoding{task: long-text, max_new_tokens: 4} by eta"));
  EXPECT_THAT(table, HasSubstr("| eta | right, none | right, pia | certified, injection 1 | certified, injection 3 |"));
  EXPECT_THAT(content("long/queries/" + first_log("long", "passages")), HasSubstr("has not so many passages"));
  EXPECT_THAT(content("long/summary.csv"), HasSubstr("\"tau\""));
}

TEST_F(AnswerExperimentTest, AnInterruptedRunGoesOnAndGivesTheSameBytes) {
  ASSERT_TRUE(run("whole").ok());
  std::filesystem::create_directories(folder_.path("cut/queries"));
  std::filesystem::copy_file(folder_.path("whole/experiment.json"), folder_.path("cut/experiment.json"));
  int torn = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder_.path("whole/queries"))) {
    // Some logs are missing, some end inside a line.
    if (++torn % 3 == 0) continue;
    const std::string text = read_file(file.path().string()).value();
    write("cut/queries/" + file.path().filename().string(), text.substr(0, text.size() * 2 / 3));
  }
  const auto resumed = run("cut");
  ASSERT_TRUE(resumed.ok()) << resumed.error().message;
  EXPECT_GT(resumed->already, 0U);
  for (const auto& file : std::filesystem::directory_iterator(folder_.path("whole/queries"))) {
    const std::string name = file.path().filename().string();
    EXPECT_EQ(content("cut/queries/" + name), content("whole/queries/" + name));
  }
  for (const char* name : {"summary.json", "summary.csv", "summary.md"})
    EXPECT_EQ(content(std::string("cut/") + name), content(std::string("whole/") + name));
}

TEST_F(AnswerExperimentTest, AFolderOfAnotherExperimentIsRefused) {
  ASSERT_TRUE(run("out").ok());
  write("set.json", json({record("q9", 6, 0)}).dump());
  EXPECT_EQ(run("out").error().code, ErrorCode::kMismatch);
}

TEST_F(AnswerExperimentTest, StoppingIsNoFailureOfTheQuestion) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(run("out", stop.get_token()).error().code, ErrorCode::kCancelled);
}

TEST(AnswerExperimentFile, MisspeltNamesGetTheNearestAndThePlace) {
  const auto message = [](const std::string& yaml) {
    const auto read = parse(yaml);
    return read.ok() ? std::string() : read.error().message;
  };
  const std::string head = "name: x\nkind: answers\ndata: {path: p}\n";
  EXPECT_THAT(message(head + "methods: [keywrod]\n"), HasSubstr("keyword"));
  EXPECT_THAT(message(head + "methods: ['keyword{alhpa: 0.3}']\n"), HasSubstr("alpha"));
  EXPECT_THAT(message(head + "methods: [vanilla]\nattaks: [pia]\n"), HasSubstr("attacks"));
  EXPECT_THAT(message(head + "methods: [vanilla]\nattacks: [pai]\n"), HasSubstr("pia"));
  EXPECT_THAT(message(head + "methods: [vanilla, vanilla]\n"), HasSubstr("twice"));
  EXPECT_THAT(message(head + "methods: ['voting{task: short-answer}']\n"), HasSubstr("multiple"));
  EXPECT_EQ(message(head + "methods: ['vanilla{task: multiple-choice}']\n"), "");
  EXPECT_THAT(message(head + "methods: ['vanilla{task: essay}']\n"), HasSubstr("long-text"));
  EXPECT_THAT(message(head + "methods: ['keyword{passages: 11}']\n"), HasSubstr("more passages than the experiment"));
  EXPECT_THAT(message(head + "methods: [{name: keyword, alpha: [0.1, 0.1]}]\n"), HasSubstr("twice"));
  EXPECT_THAT(message(head + "methods: [vanilla]\nattacks: ['pia{place: middle}']\n"), HasSubstr("last or first"));
  EXPECT_THAT(message(head + "methods: [keyword]\ncertify: {malicious: [11]}\n"), HasSubstr("malicious"));
  EXPECT_THAT(message(head + "methods: [keyword]\npassages: 2\ncertify: {malicious: [3]}\n"),
              HasSubstr("more malicious"));
  EXPECT_THAT(message(head + "methods: []\n"), HasSubstr("no method"));
  EXPECT_EQ(message(head + "methods: [vanilla]\n"), "");
}

TEST(AnswerSetTest, BrokenRecordsAreLeftOutAndNamedAndTheRestIsRead) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("set.json");
  json set = {record("a", 2, 0), 7, record("b", 2, 0), record("c", 2, 0), record("d", 2, 0), record("e", 2, 0),
              record("a", 2, 0)};
  set[2].erase("question");
  set[3]["correct answer"] = json::array();
  set[4]["context"] = json::array({{{"title", "t"}, {"text", nullptr}}});
  set[5]["choices"] = json::array({1, 2});
  std::ofstream(path) << set.dump();
  const auto read = load_answer_set("realtimeqa", path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_THAT(read->items, SizeIs(2));
  EXPECT_EQ(read->items[0].id, "a");
  EXPECT_EQ(read->items[1].id, "a#7");
  EXPECT_THAT(read->broken, SizeIs(5));
  EXPECT_THAT(read->broken[1], HasSubstr("record 3"));
}

TEST(AnswerSetTest, FilesThatAreNoSetAreErrors) {
  const test::TemporaryFolder folder;
  for (const char* text : {"", "{}", "[", "[]", "[1]", "\xFF\xFE"}) {
    std::ofstream(folder.path("set.json"), std::ios::binary) << text;
    EXPECT_EQ(load_answer_set("realtimeqa", folder.path("set.json")).error().code, ErrorCode::kInvalidInput) << text;
  }
  EXPECT_EQ(load_answer_set("realtimeqa", folder.path("none.json")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(load_answer_set("realtime", folder.path("set.json")).error().code, ErrorCode::kInvalidOption);
}

TEST(AnswerSetTest, EveryFormatIsDocumentedAndAMisspeltOneGetsTheNearest) {
  const std::vector<std::string_view> formats = answer_formats();
  EXPECT_THAT(formats, ::testing::ElementsAre("beir", "bipia", "chatdoctor", "folder", "jsonl", "musique", "realtimeqa",
                                              "squad"));
  EXPECT_THAT(check_answer_format("sqad").error().message, HasSubstr("squad"));
  EXPECT_THAT(check_answer_format("nq-open").error().message, HasSubstr("holds no passages"));
  EXPECT_THAT(check_answer_format("wikitext").error().message, HasSubstr("holds no questions"));
  EXPECT_THAT(parse("name: x\nkind: answers\ndata: {format: nq-open, path: p}\nmethods: [vanilla]\n").error().message,
              HasSubstr("x.yaml:3"));
}

std::vector<std::string> texts_of(const AnswerItem& item) {
  std::vector<std::string> out;
  for (const PromptPassage& each : item.passages) out.push_back(each.text.bytes());
  return out;
}

TEST(AnswerSetTest, OfSquadIsTheParagraphWithItsNeighboursInTheArticle) {
  const test::TemporaryFolder folder;
  json articles = json::array();
  for (const char* title : {"Tarn", "Orvel"}) {
    json paragraphs = json::array();
    for (int i = 0; i < 5; ++i) {
      const std::string name = title + std::to_string(i);
      paragraphs.push_back({{"context", "About " + name + "."},
                            {"qas",
                             {{{"id", name},
                               {"question", "What is this about?"},
                               {"answers", {{{"text", name}, {"answer_start", 6}}}}}}}});
    }
    articles.push_back({{"title", title}, {"paragraphs", paragraphs}});
  }
  std::ofstream(folder.path("squad.json")) << json{{"version", "1.1"}, {"data", articles}}.dump();
  const auto set = load_answer_set("squad", folder.path("squad.json"), {4, 42});
  ASSERT_TRUE(set.ok()) << set.error().message;
  ASSERT_THAT(set->items, SizeIs(10));
  EXPECT_EQ(set->items[3].id, "Tarn3");
  EXPECT_THAT(texts_of(set->items[3]),
              ::testing::ElementsAre("About Tarn3.", "About Tarn2.", "About Tarn4.", "About Tarn1."));
  EXPECT_THAT(texts_of(set->items[5]),
              ::testing::ElementsAre("About Orvel0.", "About Orvel1.", "About Orvel2.", "About Orvel3."));
  for (const AnswerItem& each : set->items) {
    EXPECT_FALSE(each.wrong_answer.empty());  // another question's
    EXPECT_NE(each.wrong_answer.bytes(), each.answers[0].bytes());
  }
  EXPECT_EQ(load_answer_set("squad", folder.path("squad.json"), {65, 42}).error().code, ErrorCode::kInvalidOption);
}

TEST(AnswerSetTest, OfMusiqueIsTheQuestionsOwnParagraphsWhatAnswersFirst) {
  const test::TemporaryFolder folder;
  const auto paragraph = [](const char* text, bool supports) {
    return json{{"title", "t"}, {"paragraph_text", text}, {"is_supporting", supports}};
  };
  const json set = {
      {{"id", "m1"},
       {"question", "Who?"},
       {"answer", "Ann"},
       {"answer_aliases", {"Anna"}},
       {"paragraphs", {paragraph("x", false), paragraph("y", true), paragraph("z", false), paragraph("w", true)}}},
      {{"id", "m2"}, {"question", "Who?"}, {"answer", "Bob"}, {"paragraphs", "none"}}};
  std::ofstream(folder.path("m.json")) << set.dump();
  const auto read = load_answer_set("musique", folder.path("m.json"), {3, 42});
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_THAT(read->items, SizeIs(1));
  EXPECT_THAT(texts_of(read->items[0]), ::testing::ElementsAre("y", "w", "x"));
  EXPECT_THAT(read->items[0].answers, SizeIs(2));
  EXPECT_TRUE(read->items[0].wrong_answer.empty());  // there is no other question
  ASSERT_THAT(read->broken, SizeIs(1));
  EXPECT_THAT(read->broken[0], HasSubstr("record 2"));
}

TEST(AnswerSetTest, OfJsonLinesIsWhatEachLineHoldsAndBrokenLinesAreLeftOut) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("set.jsonl");
  std::ofstream(path, std::ios::binary)
      << R"({"id": "a", "question": "Tell me.", "facts": [["1911", "the year 1911"], "Orvel"], "wrong_answer": "Holm", )"
         R"("passages": [{"title": "t", "text": "one"}, "two", {"text": ""}]})"
         "\n"
      << R"({"question": "Which?", "answers": ["red"], "options": ["green", "red"], "right_option": "B", "passages": ["p"]})"
         "\n"
      << "no json\n\xFF\xFE\n[]\n"
      << R"({"question": "Which?", "answers": ["red"], "options": ["green"], "right_option": "C", "passages": ["p"]})"
         "\n"
      << R"({"question": "Which?", "answers": ["red"], "passages": [7]})"
         "\n"
      << R"({"question": "  ", "answers": ["red"], "passages": ["p"]})"
         "\n"
      << R"({"question": "Which?", "passages": ["p"]})"
         "\n"
      << R"({"question": "Which?", "answers": ["red"], "passages": []})"
         "\n";
  const auto read = load_answer_set("jsonl", path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_THAT(read->items, SizeIs(2));
  EXPECT_THAT(texts_of(read->items[0]), ::testing::ElementsAre("one", "two"));
  ASSERT_THAT(read->items[0].facts, SizeIs(2));
  EXPECT_THAT(read->items[0].facts[0], SizeIs(2));
  EXPECT_THAT(read->items[0].answers, SizeIs(2));  // the facts
  EXPECT_EQ(read->items[1].id, "2");
  EXPECT_EQ(read->items[1].right_option, 1U);
  EXPECT_THAT(read->broken, SizeIs(8));
}

TEST(LongText, IsWorthTheShareOfItsFactsInAnyWording) {
  AnswerItem each;
  each.question = UntrustedText("Tell me.");
  each.answers = {UntrustedText("Orvel")};
  each.facts = {{UntrustedText("1911"), UntrustedText("nineteen eleven")},
                {UntrustedText("Orvel")},
                {UntrustedText("Voss")},
                {UntrustedText("43 metres")}};
  const auto question = question_of(each, AnswerTask::kLongText);
  const auto worth = [&](const char* answer) { return answer_score(each, *question, UntrustedText(answer)); };
  EXPECT_DOUBLE_EQ(worth("In nineteen eleven, 1911, the harbour of Orvel was built by Voss."), 0.75);
  EXPECT_DOUBLE_EQ(worth("Orvel is 43 metres tall"), 0.5);
  EXPECT_DOUBLE_EQ(worth("Vossberg"), 0);
  EXPECT_TRUE(is_right(each, *question, UntrustedText("Orvel, 1911")));
  EXPECT_FALSE(is_right(each, *question, UntrustedText("Orvel")));
  // Asked for a few words, any right answer is right.
  EXPECT_TRUE(is_right(each, *question_of(each, AnswerTask::kShortAnswer), UntrustedText("Orvel")));
  each.facts.clear();
  EXPECT_DOUBLE_EQ(worth("Orvel"), 1);
}

AnswerItem item(const std::string& question, const std::string& wrong) {
  AnswerItem out;
  out.question = UntrustedText(question);
  out.answers = {UntrustedText("Steve Scalise")};
  out.wrong_answer = UntrustedText(wrong);
  return out;
}

TEST(AttackJudging, CountsNeitherWayWhereTheTargetStandsInTheQuestionOrInARightAnswer) {
  const auto judge = [](const AnswerItem& each, const char* answer) {
    return attack_succeeded(each, *question_of(each, AnswerTask::kShortAnswer), UntrustedText(answer));
  };
  EXPECT_EQ(judge(item("Who?", "Jim Jordan"), "It is Jim Jordan."), true);
  EXPECT_EQ(judge(item("Who?", "Jim Jordan"), "Steve Scalise"), false);
  EXPECT_EQ(judge(item("Is it Jim Jordan?", "Jim Jordan"), "It is Jim Jordan."), std::nullopt);
  EXPECT_EQ(judge(item("Who?", "Scalise"), "Steve Scalise"), std::nullopt);
  EXPECT_EQ(judge(item("Who?", ""), "Steve Scalise"), std::nullopt);
}

TEST(AttackJudging, MaliciousPassagesTakeTheirPlacesAndTheLastCleanOnesFallOut) {
  AnswerItem each = item("Who?", "Jim Jordan");
  for (const char* text : {"one", "two", "three", "four"})
    each.passages.push_back({UntrustedText(), UntrustedText(text)});
  const auto texts = [&](const char* attack) {
    std::vector<std::string> out;
    const auto passages = *passages_under(each, AnswerTask::kShortAnswer, *parse_answer_attack(attack), 3);
    for (const PromptPassage& passage : passages) out.push_back(passage.text.bytes().substr(0, 5));
    return out;
  };
  EXPECT_THAT(texts("none"), ::testing::ElementsAre("one", "two", "three"));
  EXPECT_THAT(texts("pia"), ::testing::ElementsAre("one", "two", "When "));
  EXPECT_THAT(texts("pia{place: first}"), ::testing::ElementsAre("When ", "one", "two"));
  EXPECT_THAT(texts("pia{count: 2}"), ::testing::ElementsAre("one", "When ", "When "));
  each.wrong_answer = UntrustedText();
  EXPECT_EQ(passages_under(each, AnswerTask::kShortAnswer, *parse_answer_attack("pia"), 3), std::nullopt);
}

}  // namespace
}  // namespace casemate
