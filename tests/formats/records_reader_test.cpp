#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "casemate/formats/squad.h"
#include "formats/format_fixture.h"

namespace casemate {
namespace {

using test::source_of;

class JsonlReader : public test::FormatTest {};
class CsvReader : public test::FormatTest {};
class SquadReader : public test::FormatTest {};

TEST_F(JsonlReader, BeirRecordsArePassagesWithTheirOwnIds) {
  const std::string source =
      "\xEF\xBB\xBF{\"_id\": \"d1\", \"title\": \"T\", \"text\": \"caf\\u00e9\\nx\", \"metadata\": {\"url\": \"u\"}, "
      "\"n\": 3}\r\n\n"
      "{\"_id\": 7, \"title\": null, \"text\": \"second\"}";
  write("corpus.jsonl", source);
  read("corpus.jsonl");
  ASSERT_EQ(sink_.documents.size(), 2U) << sink_.messages();
  const Document& first = sink_.documents[0];
  EXPECT_EQ(first.id, "d1");
  EXPECT_EQ(first.title.bytes(), "T");
  EXPECT_EQ(first.text.bytes(), "caf\xC3\xA9\nx");
  EXPECT_EQ(first.metadata, (std::map<std::string, std::string>{{"url", "u"}, {"n", "3"}}));
  EXPECT_TRUE(first.one_passage);
  EXPECT_EQ(sink_.documents[1].id, "7");
  EXPECT_EQ(sink_.documents[1].line, 3U);
  EXPECT_EQ(source.substr(sink_.documents[1].record.begin, sink_.documents[1].record.size()),
            "{\"_id\": 7, \"title\": null, \"text\": \"second\"}");
}

TEST_F(JsonlReader, EachBrokenRecordIsNamedByLineAndTheRestIsRead) {
  write("corpus.jsonl",
        "{\"_id\":\"a\",\"text\":\"x\"}\n"
        "{\"text\":\"no id\"}\n"
        "{\"_id\":\"c\"}\n"
        "{\"_id\":\"d\",\"text\":5}\n"
        "not json\n"
        "{\"_id\":\"f\",\"text\":NaN}\n"
        "{\"_id\":\"g\",\"text\":\"1\",\"text\":\"2\"}\n"
        "[1]\n"
        "{\"_id\":\"a\",\"text\":\"again\"}\n"
        "{\"_id\":\"j\",\"text\":\"  \"}\n"
        "{\"_id\":\"\",\"text\":\"x\"}\n"
        "{\"_id\":\"l\",\"text\":\"\xFF\"}\n"
        "{\"_id\":\"m\",\"text\":\"last\"}\n");
  read("corpus.jsonl");
  EXPECT_EQ(sink_.documents.size(), 2U);
  EXPECT_NE(sink_.find("m"), nullptr);
  ASSERT_EQ(sink_.problems.size(), 11U) << sink_.messages();
  const std::string path = folder_.path("corpus.jsonl");
  for (std::size_t i = 0; i < 11; ++i) {
    EXPECT_EQ(sink_.problems[i].line, i + 2);
    EXPECT_TRUE(sink_.problems[i].error.message.starts_with(path + ":" + std::to_string(i + 2) + ": "))
        << sink_.problems[i].error.message;
  }
  EXPECT_EQ(sink_.problems[0].error.message,
            path + ":2: field \"_id\" is missing (every passage needs one; --generate-ids makes them)");
  EXPECT_NE(sink_.problems[5].error.message.find("\"text\" is there twice"), std::string::npos);
  EXPECT_NE(sink_.problems[7].error.message.find(path + ":1"), std::string::npos) << "the place of the first";
}

TEST_F(JsonlReader, IdsAreMadeWhereAsked) {
  options_.generate_ids = true;
  EXPECT_EQ(only("corpus.jsonl", "\n{\"text\":\"x\"}\n").id, "corpus.jsonl#2");
}

TEST_F(CsvReader, RowsArePassagesByRfc4180) {
  const std::string source =
      "id,title,text,year\r\na,T,\"He said \"\"hi\"\",\nthen left\",1999\r\nb,,plain \"quotes\" inside,\r\n";
  write("rows.csv", source);
  read("rows.csv");
  ASSERT_EQ(sink_.documents.size(), 2U) << sink_.messages();
  EXPECT_EQ(sink_.documents[0].id, "a");
  EXPECT_EQ(sink_.documents[0].text.bytes(), "He said \"hi\",\nthen left");
  EXPECT_EQ(sink_.documents[0].metadata.at("year"), "1999");
  EXPECT_EQ(source_of(sink_.documents[0], source, "\"hi\","), "\"\"hi\"\",");
  EXPECT_EQ(source_of(sink_.documents[0], source, "said \"hi\""), "said \"\"hi\"\"");
  EXPECT_EQ(source_of(sink_.documents[0], source, "then left"), "then left");
  EXPECT_EQ(sink_.documents[1].line, 4U);
  EXPECT_EQ(sink_.documents[1].text.bytes(), "plain \"quotes\" inside");
}

TEST_F(CsvReader, WithoutATextColumnAllColumnsAreTheText) {
  const Document row = only("rows.csv", "name,colour,note\nBlackbird,black,\n");
  EXPECT_EQ(row.text.bytes(), "name: Blackbird\ncolour: black");
  EXPECT_EQ(row.id, "rows.csv#1");
}

TEST_F(CsvReader, BrokenRowsAreNamedAndTheRestIsRead) {
  write("rows.csv", "id,text\n1,a,b\n2,\"x\"y\n3,good\n,no id\n4,\"open\n5,swallowed");
  read("rows.csv");
  ASSERT_EQ(sink_.documents.size(), 1U);
  EXPECT_EQ(sink_.documents[0].id, "3");
  ASSERT_EQ(sink_.problems.size(), 4U) << sink_.messages();
  EXPECT_EQ(sink_.problems[0].line, 2U);
  EXPECT_NE(sink_.problems[0].error.message.find("3 columns, expected 2"), std::string::npos);
  EXPECT_EQ(sink_.problems[1].line, 3U);
  EXPECT_EQ(sink_.problems[2].line, 5U);
  EXPECT_EQ(sink_.problems[3].line, 6U);
  EXPECT_NE(sink_.problems[3].error.message.find("never closed"), std::string::npos);
}

TEST_F(CsvReader, ColumnsAreChosenByOptionAndAMissingOneIsAnError) {
  options_.csv.text_column = "b";
  EXPECT_EQ(only("rows.csv", "a,b\nx,y\n").text.bytes(), "y");
  options_.csv.text_column = "c";
  EXPECT_NE(refusal("rows.csv", "a,b\nx,y\n").find("there are a, b"), std::string::npos);
}

TEST_F(CsvReader, TabSeparatedValuesHaveNoQuotes) {
  EXPECT_EQ(only("rows.tsv", "id\ttext\n1\t\"not quoted, here\n").text.bytes(), "\"not quoted, here");
}

TEST_F(SquadReader, ParagraphsArePassagesAndQuestionsPointToThem) {
  const std::string json =
      "{\"data\":[{\"title\":\"T\",\"paragraphs\":["
      "{\"context\":\"C "
      "one.\",\"qas\":[{\"id\":\"q1\",\"question\":\"Q?\",\"answers\":[{\"text\":\"one\",\"answer_start\":2}]}]},"
      "{\"context\":\"C one.\",\"qas\":[{\"id\":\"q2\",\"question\":\"R?\",\"answers\":[]},{\"question\":\"no id\"}]},"
      "{\"qas\":[]}]}]}";
  write("a.json", json);
  write_zip("b.zip", {{"dev.json", json}});
  for (const std::string name : {"a.json", "b.zip"}) {
    sink_ = {};
    read(name);
    ASSERT_EQ(sink_.documents.size(), 1U) << sink_.messages();
    EXPECT_EQ(sink_.problems.size(), 1U);
    EXPECT_EQ(sink_.documents[0].id, squad_passage_id("C one."));
    const auto questions = read_squad_questions(folder_.path(name), options_.limits);
    ASSERT_TRUE(questions.ok());
    ASSERT_EQ(questions->questions.size(), 2U);
    EXPECT_EQ(questions->problems.size(), 1U);
    EXPECT_EQ(questions->questions[1].gold_passage_id, sink_.documents[0].id);
    EXPECT_EQ(questions->questions[0].answers.at(0).bytes(), "one");
  }
}

TEST_F(SquadReader, OtherJsonIsRefusedWithAnExplanation) {
  EXPECT_NE(refusal("other.json", "{\"a\": 1}").find("not SQuAD"), std::string::npos);
  EXPECT_NE(refusal("other.json", "{\"data\": [}").find("not valid JSON at byte"), std::string::npos);
}

TEST_F(SquadReader, TheRealDevelopmentSetHas2067PassagesAnd10570Questions) {
  const char* data = std::getenv("CASEMATE_DATA");
  const std::string folder = data != nullptr ? data : std::string(CASEMATE_SOURCE_DIR) + "/../shared/data";
  const std::string path = folder + "/squad/dev-v1.1.json.zip";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there (set CASEMATE_DATA)";
  const auto summary = read_path(path, options_, sink_);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(sink_.problems.size(), 0U) << sink_.messages();
  EXPECT_EQ(sink_.documents.size(), 2067U);
  const auto questions = read_squad_questions(path, options_.limits);
  ASSERT_TRUE(questions.ok());
  EXPECT_EQ(questions->questions.size(), 10570U);
  std::set<std::string> ids;
  for (const Document& document : sink_.documents) ids.insert(document.id);
  for (const SquadQuestion& question : questions->questions) ASSERT_TRUE(ids.contains(question.gold_passage_id));
}

}  // namespace
}  // namespace casemate
