// Every format of data set: what a whole file gives, and what becomes of each kind of broken row. Real data are read
// where they are; their sizes are those that their own pages state.
#include "casemate/eval/data_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "casemate/eval/answer_set.h"
#include "casemate/eval/bipia.h"
#include "support/temporary_folder.h"

namespace casemate {
namespace {

namespace fs = std::filesystem;

class DataSetTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder_.path(name);
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  DataSet load(const std::string& format, const std::string& path) {
    auto data = load_data_set(format, path);
    EXPECT_TRUE(data.ok()) << data.error().message;
    return data.ok() ? *std::move(data) : DataSet{};
  }

  void make_beir(const std::string& corpus, const std::string& queries, const std::string& qrels) {
    write("beir/corpus.jsonl", corpus);
    write("beir/queries.jsonl", queries);
    write("beir/qrels/test.tsv", qrels);
  }

  [[nodiscard]] static bool names(const DataSet& data, const std::string& place) {
    return std::any_of(data.problems.begin(), data.problems.end(),
                       [&](const std::string& each) { return each.find(place) != std::string::npos; });
  }

  test::TemporaryFolder folder_;
};

constexpr char kCorpus[] =
    "{\"_id\":\"d1\",\"title\":\"One\",\"text\":\"The first passage.\"}\n"
    "{\"_id\":\"d2\",\"title\":null,\"text\":\"The second passage.\"}\n"
    "{\"_id\":3,\"text\":\"The third, whose id is a number.\"}\n";
constexpr char kQueries[] = "{\"_id\":\"q1\",\"text\":\"first?\"}\n{\"_id\":\"q2\",\"text\":\"both?\"}\n";
constexpr char kQrels[] = "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td1\t1\nq2\td2\t2\nq2\t3\t0\n";

TEST_F(DataSetTest, BeirHasPassagesQuestionsAndGradedJudgements) {
  make_beir(kCorpus, kQueries, kQrels);
  const DataSet data = load("beir", folder_.path("beir"));
  ASSERT_EQ(data.passages.size(), 3U);
  EXPECT_EQ(data.passages[2].id, "3");
  ASSERT_EQ(data.questions.size(), 2U);
  EXPECT_EQ(data.questions[1].gold_document, "d2");  // the best grade
  EXPECT_EQ(data.judgements[1], (Judgements{{"3", 0}, {"d1", 1}, {"d2", 2}}));
  EXPECT_EQ(data.broken + data.repeated + data.without_gold + data.stray_judgements, 0U);
}

TEST_F(DataSetTest, EachBrokenRowOfBeirIsLeftOutCountedAndNamed) {
  make_beir(
      std::string(kCorpus) +
          "{\"_id\":\"d4\",\"text\":\"  \"}\n"             // 4: empty text
          "{\"title\":\"no id\",\"text\":\"x\"}\n"         // 5: missing id
          "{\"_id\":\"d1\",\"text\":\"again\"}\n"          // 6: duplicate id
          "{\"_id\":\"d7\",\"text\":\"bad \xff byte\"}\n"  // 7: bad UTF-8
          "{\"_id\":\"d8\",\"text\":[1]}\n"                // 8: another type
          "{\"_id\":\"d9\",\"text\":NaN}\n"                // 9: NaN
          "[1,2]\n{\"_id\":\"d11\",\"te",                  // 10: no object; 11: torn
      std::string(kQueries) + "{\"_id\":\"q1\",\"text\":\"again?\"}\n{\"_id\":\"q9\",\"text\":\"of another split?\"}\n",
      std::string(kQrels) + "q7\td1\t1\nq1\tgone\t1\n");  // a qrel without its query, one without its document
  const DataSet data = load("beir", folder_.path("beir"));
  EXPECT_EQ(data.passages.size(), 3U);
  EXPECT_EQ(data.broken, 8U);
  for (const char* line : {"jsonl:4", "jsonl:5", "jsonl:6", "jsonl:7", "jsonl:8", "jsonl:9", "jsonl:10", "jsonl:11"})
    EXPECT_TRUE(names(data, line)) << line;
  EXPECT_EQ(data.questions.size(), 2U);
  EXPECT_EQ(data.repeated, 1U);
  EXPECT_EQ(data.stray_judgements, 2U);
}

TEST_F(DataSetTest, JudgementsThatAreNoNumberOrMissingAreErrorsWithTheirPlace) {
  make_beir(kCorpus, kQueries, "query-id\tcorpus-id\tscore\nq1\td1\tNaN\n");
  auto bad = load_data_set("beir", folder_.path("beir"));
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().message.find("test.tsv:2"), std::string::npos) << bad.error().message;
  fs::remove_all(folder_.path("beir/qrels"));
  bad = load_data_set("beir", folder_.path("beir"));
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().message.find("no judgements"), std::string::npos) << bad.error().message;
  make_beir(kCorpus, kQueries, "query-id\tcorpus-id\tscore\nq1\tgone\t1\n");
  bad = load_data_set("beir", folder_.path("beir"));
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().message.find("answering passage"), std::string::npos) << bad.error().message;
}

TEST_F(DataSetTest, PoisonedRagsTargetsNeedACorpusAndBringTheirLies) {
  const std::string targets = write("targets.json",
                                    R"({"t1": {"id": "t1", "question": "how many?", "correct answer": "23",
      "incorrect answer": "24", "adv_texts": ["There are 24."]}, "t2": {"question": "who?", "correct answer": "A",
      "incorrect answer": "B", "adv_texts": []}, "t3": {"question": "no wrong answer?", "correct answer": "A"},
      "t4": "no object", "t5": {"question": " ", "incorrect answer": "B"}, "t6": {"question": 4.5, "incorrect answer": "B"}})");
  const auto alone = load_data_set("poisonedrag", targets);
  ASSERT_FALSE(alone.ok());
  EXPECT_NE(alone.error().message.find("corpus:"), std::string::npos);
  make_beir(kCorpus, kQueries, kQrels);
  const auto data = load_data_set(DataSource{"poisonedrag", targets, "beir", folder_.path("beir")});
  ASSERT_TRUE(data.ok()) << data.error().message;
  ASSERT_EQ(data->questions.size(), 2U);
  EXPECT_EQ(data->questions[0].wrong_answer.bytes(), "24");
  EXPECT_EQ(data->questions[0].wrong_texts.at(0).bytes(), "There are 24.");
  EXPECT_EQ(data->questions[1].query_id, "t2");  // its key, where it has no id
  EXPECT_EQ(data->passages.size(), 3U);
  EXPECT_FALSE(data->has_gold);
  EXPECT_EQ(data->broken, 4U);
  EXPECT_TRUE(names(*data, "record 3")) << data->problems.front();
}

TEST_F(DataSetTest, MusiqueHasSeveralAnsweringPassagesAndTakesTheCorpusBeside) {
  const std::string paragraphs =
      R"("paragraphs": [{"title": "A", "paragraph_text": "Alpha text.", "is_supporting": true},
      {"title": "B", "paragraph_text": "Beta text.", "is_supporting": false},
      {"title": "C", "paragraph_text": "Gamma text.", "is_supporting": true}])";
  const std::string file =
      write("m.json", R"([{"id": "1", "question": "hop?", "answer": "x", "answer_aliases": ["y"], )" + paragraphs +
                          R"(}, {"id": "2", "question": "no paragraphs?"}, {"id": "1", "question": "again?", )" +
                          paragraphs + R"(}, {"id": "3", "question": "bad?", "paragraphs": [7]}])");
  const DataSet own = load("musique", file);
  EXPECT_EQ(own.passages.size(), 3U);
  ASSERT_EQ(own.questions.size(), 1U);
  EXPECT_EQ(own.judgements[0].size(), 2U);
  EXPECT_EQ(own.questions[0].answers.size(), 2U);
  EXPECT_EQ(own.broken, 2U);
  EXPECT_EQ(own.repeated, 1U);
  write("m_corpus.json", R"([{"title": "A", "text": "Alpha text."}, {"title": "D", "text": "Delta."}])");
  const DataSet beside = load("musique", file);
  EXPECT_EQ(beside.passages.size(), 2U);
  EXPECT_EQ(beside.judgements[0].size(), 1U);  // C is not in that corpus
  EXPECT_EQ(beside.passages[0].id, own.passages[0].id);
}

TEST_F(DataSetTest, QuestionsOfNqOpenAndWebQuestionsOverWikiText) {
  const std::string corpus = write(
      "wiki.txt",
      " \n = Robert Boulter = \n \n Robert Boulter is an English film , television and theatre actor . \n"
      " = = Career = = \n Short line . \n In 2006 , Boulter starred alongside Whishaw in the play Citizenship . \n");
  const std::string nq =
      write("nq.jsonl",
            "{\"question\": \"who is boulter\", \"answer\": [\"an actor\"]}\nnot json\n{\"question\": \"\", "
            "\"answer\": []}\n{\"question\": \"and?\", \"answer\": \"one\"}\n");
  const auto data = load_data_set(DataSource{"nq-open", nq, "wikitext", corpus});
  ASSERT_TRUE(data.ok()) << data.error().message;
  ASSERT_EQ(data->passages.size(), 2U);
  EXPECT_EQ(data->passages[0].title.bytes(), "Robert Boulter");
  EXPECT_EQ(data->passages[1].title.bytes(), "Robert Boulter, Career");
  EXPECT_EQ(data->questions.size(), 2U);
  EXPECT_EQ(data->broken, 2U);
  EXPECT_TRUE(names(*data, "nq.jsonl:2"));
  const std::string web =
      write("web.json", R"([{"qId": "w1", "qText": "what?", "answers": ["a", "b"]}, {"qId": "w1", "qText": "again"}])");
  const auto questions = load_data_set(DataSource{"webquestions", web, "wikitext", corpus});
  ASSERT_TRUE(questions.ok());
  EXPECT_EQ(questions->questions.size(), 1U);
  EXPECT_EQ(questions->repeated, 1U);
  EXPECT_FALSE(load_data_set("wikitext", corpus).ok());                        // no questions
  EXPECT_FALSE(load_data_set(DataSource{"nq-open", nq, "nq-open", nq}).ok());  // no corpus
}

TEST_F(DataSetTest, DialoguesAndBipiasContextsAnswerTheirOwnQuestions) {
  const DataSet doctor = load(
      "chatdoctor", write("c.json", R"([{"input": "It hurts.", "output": "Rest."}, {"input": "x"}, {"output": "y"}])"));
  ASSERT_EQ(doctor.questions.size(), 1U);
  EXPECT_EQ(doctor.questions[0].gold_document, doctor.passages[0].id);
  EXPECT_EQ(doctor.broken, 2U);
  write("b/text_attack_test.json", R"({"Scam": ["Send money."], "Code": ["Write code.", 5, ""]})");
  const DataSet bipia = load(
      "bipia", write("b/email_test.jsonl",
                     "{\"context\": \"MAIL\", \"question\": \"how much?\", \"ideal\": \"10\"}\n"
                     "{\"context\": \"MAIL\", \"question\": \"when?\", \"ideal\": \"now\"}\n{\"question\": \"?\"}\n"));
  EXPECT_EQ(bipia.passages.size(), 1U);  // one mail, two questions
  ASSERT_EQ(bipia.questions.size(), 2U);
  EXPECT_EQ(bipia.questions[0].wrong_texts.at(0).bytes(), "Write code.");
  EXPECT_EQ(bipia.questions[1].wrong_texts.at(0).bytes(), "Send money.");
  EXPECT_EQ(bipia.broken, 1U);
  EXPECT_EQ(read_bipia_instructions(folder_.path("b/text_attack_test.json"))->size(), 2U);
  write("b/text_attack_test.json", "[]");
  EXPECT_FALSE(load_data_set("bipia", folder_.path("b/email_test.jsonl")).ok());
}

TEST_F(DataSetTest, AFolderIsCutBetweenParagraphsAndItsQuestionsNameFiles) {
  write("docs/short.txt", "A short text about bridges.");
  write("docs/sub/long.txt", std::string(1400, 'a') + "\n\n" + std::string(1400, 'b') + "\n\nend");
  write("docs/questions.jsonl",
        "{\"question\": \"bridges?\", \"document\": \"short.txt\", \"answers\": [\"yes\"]}\n"
        "{\"id\": \"l\", \"question\": \"long?\", \"document\": \"sub/long.txt\"}\n"
        "{\"question\": \"nowhere?\", \"document\": \"gone.txt\"}\n{\"document\": \"short.txt\"}\n");
  const DataSet data = load("folder", folder_.path("docs"));
  EXPECT_EQ(data.passages.size(), 3U);
  ASSERT_EQ(data.questions.size(), 2U);
  EXPECT_EQ(data.judgements[1], (Judgements{{"sub/long.txt", 1}, {"sub/long.txt#2", 1}}));
  EXPECT_EQ(data.broken, 2U);
  EXPECT_TRUE(names(data, "questions.jsonl:3"));
  fs::remove(folder_.path("docs/questions.jsonl"));
  const auto none = load_data_set("folder", folder_.path("docs"));
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("questions.jsonl"), std::string::npos);
}

TEST_F(DataSetTest, HostileFilesOfEveryFormatEndInAnErrorNotACrash) {
  const std::string contents[] = {"",
                                  "   ",
                                  "null",
                                  "[]",
                                  "{}",
                                  "[[[[",
                                  std::string(100'000, '['),
                                  "\xff\xfe",
                                  "[1,2,3]",
                                  "{\"a\":1}",
                                  std::string("{\"question\": \"\0\"}", 17),
                                  std::string(1'000'000, 'x')};
  for (const DataFormat& format : data_formats()) {
    for (const std::string& content : contents) {
      const std::string path = write("hostile/file.json", content);
      const auto data = load_data_set(DataSource{std::string(format.name), path, "", ""});
      EXPECT_FALSE(data.ok()) << format.name << " took " << content.substr(0, 20);
      const auto corpus = load_data_set(DataSource{"nq-open", path, std::string(format.name), path});
      EXPECT_FALSE(corpus.ok()) << format.name;
    }
    EXPECT_FALSE(load_data_set(format.name, folder_.path("not-there")).ok()) << format.name;
  }
  const auto unknown = load_data_set("beer", "x");
  EXPECT_NE(unknown.error().message.find("beir"), std::string::npos) << unknown.error().message;
}

TEST_F(DataSetTest, TheDigestChangesWithJudgements) {
  make_beir(kCorpus, kQueries, kQrels);
  const Digest before = load("beir", folder_.path("beir")).digest;
  make_beir(kCorpus, kQueries, "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td1\t2\nq2\td2\t2\n");
  EXPECT_NE(load("beir", folder_.path("beir")).digest, before);
}

TEST(ShrunkCorpus, HoldsWhatAnswersTheAskedQuestionsAndOthersDrawnUnderTheSeed) {
  DataSet whole;
  for (int i = 0; i < 50; ++i) {
    const std::string number = std::to_string(i);
    whole.passages.push_back({"p" + number, UntrustedText(), UntrustedText("text " + number)});
    AttackTarget question;
    question.query_id = "q" + number;
    question.gold_document = "p" + number;
    whole.questions.push_back(std::move(question));
    whole.judgements.push_back({{"p" + number, 1}, {"p" + std::to_string((i + 1) % 50), i % 2}});
  }
  const std::vector<std::string> asked = {"q7", "q20"};  // answered by 7 and 8, and by 20 alone
  const auto ids_of = [](const DataSet& data) {
    std::vector<std::string> out;
    for (const CorpusPassage& each : data.passages) out.push_back(each.id);
    return out;
  };
  DataSet data = whole;
  shrink_corpus(data, asked, 12, 5);
  const auto kept = ids_of(data);
  EXPECT_EQ(kept.size(), 12U);
  for (const char* id : {"p7", "p8", "p20"}) EXPECT_EQ(std::count(kept.begin(), kept.end(), id), 1) << id;
  EXPECT_TRUE(std::is_sorted(data.passages.begin(), data.passages.end(), [](const auto& a, const auto& b) {
    return std::stoi(a.id.substr(1)) < std::stoi(b.id.substr(1));
  }));
  ASSERT_EQ(data.questions.size(), data.judgements.size());
  for (std::size_t q = 0; q < data.questions.size(); ++q) {
    for (const auto& [document, grade] : data.judgements[q]) {
      EXPECT_TRUE(grade == 0 || std::count(kept.begin(), kept.end(), document) == 1) << data.questions[q].query_id;
    }
  }
  for (const std::string& id : asked) {
    EXPECT_TRUE(std::any_of(data.questions.begin(), data.questions.end(),
                            [&](const AttackTarget& each) { return each.query_id == id; }))
        << id;
  }
  EXPECT_NE(data.digest, whole.digest);
  EXPECT_TRUE(data.index_passages);

  DataSet again = whole, other = whole, least = whole, all = whole;
  shrink_corpus(again, asked, 12, 5);
  EXPECT_EQ(ids_of(again), kept);
  shrink_corpus(other, asked, 12, 6);
  EXPECT_NE(ids_of(other), kept);
  shrink_corpus(least, asked, 1, 5);
  EXPECT_EQ(ids_of(least), (std::vector<std::string>{"p7", "p8", "p20"}));
  shrink_corpus(all, asked, 50, 5);
  EXPECT_EQ(ids_of(all), ids_of(whole));
  EXPECT_EQ(all.digest, whole.digest);
}

TEST(RealDataSets, HaveTheSizesThatTheirPagesState) {
  const char* set = std::getenv("CASEMATE_DATA");
  const fs::path root = set != nullptr ? fs::path(set) : fs::path(CASEMATE_SOURCE_DIR).parent_path() / "shared/data";
  if (!fs::exists(root / "musique")) GTEST_SKIP() << root << " is not there";
  const auto file = [&root](const char* name) { return (root / name).string(); };
  const auto musique = load_data_set("musique", file("musique/musique_train.json"));
  ASSERT_TRUE(musique.ok()) << musique.error().message;
  EXPECT_EQ(musique->passages.size(), 1890U);
  EXPECT_EQ(musique->questions.size(), 100U);
  for (const Judgements& gold : musique->judgements) EXPECT_GE(gold.size(), 2U);  // two hops at least
  for (const char* name : {"nq", "hotpotqa", "msmarco"}) {
    const auto targets =
        load_data_set(DataSource{"poisonedrag", file((std::string("poisonedrag/") + name + ".json").c_str()),
                                 "wikitext", file("wikitext2/test.txt")});
    ASSERT_TRUE(targets.ok()) << targets.error().message;
    EXPECT_EQ(targets->questions.size(), 100U);
    for (const AttackTarget& each : targets->questions) EXPECT_EQ(each.wrong_texts.size(), 5U);
  }
  const auto nq =
      load_data_set(DataSource{"nq-open", file("nq_open/NQ-open.dev.jsonl"), "wikitext", file("wikitext2/test.txt")});
  ASSERT_TRUE(nq.ok()) << nq.error().message;
  EXPECT_EQ(nq->questions.size(), 3610U);
  const auto web =
      load_data_set(DataSource{"webquestions", file("webquestions/test.json"), "wikitext", file("wikitext2/test.txt")});
  ASSERT_TRUE(web.ok()) << web.error().message;
  EXPECT_EQ(web->questions.size(), 2032U);
  const auto doctor = load_data_set("chatdoctor", file("chatdoctor/chatdoctor5k.json"));
  ASSERT_TRUE(doctor.ok()) << doctor.error().message;
  EXPECT_EQ(doctor->questions.size(), 5452U);
  const auto paragraphs = load_answer_set("musique", file("musique/musique_train.json"), {20, 42});
  ASSERT_TRUE(paragraphs.ok()) << paragraphs.error().message;
  EXPECT_EQ(paragraphs->items.size(), 100U);
  for (const AnswerItem& each : paragraphs->items) EXPECT_EQ(each.passages.size(), 20U);
  const auto retrieved = load_answer_set("realtimeqa", file("robustrag/realtimeqa.json"));
  ASSERT_TRUE(retrieved.ok()) << retrieved.error().message;
  EXPECT_EQ(retrieved->items.size(), 100U);
  const auto mails = load_data_set("bipia", file("bipia/email_test.jsonl"));
  ASSERT_TRUE(mails.ok()) << mails.error().message;
  EXPECT_EQ(mails->questions.size(), 50U);
  EXPECT_EQ(read_bipia_instructions(file("bipia/text_attack_test.json"))->size(), 75U);
}

}  // namespace
}  // namespace casemate
