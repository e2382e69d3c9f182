#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <sstream>

#include "store/store_fixture.h"

namespace casemate::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<std::string> split(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// BM25 as SQLite's documentation defines bm25(): k1 = 1.2, b = 0.75, and idf not below 1e-6.
double expected_score(const std::vector<std::string>& corpus, const std::string& text, const std::string& query) {
  double total = 0;
  for (const std::string& document : corpus) total += static_cast<double>(split(document).size());
  const auto count = static_cast<double>(corpus.size());
  const double average = total / count;
  double score = 0;
  for (const std::string& word : split(query)) {
    double with_word = 0;
    for (const std::string& document : corpus) {
      const auto words = split(document);
      with_word += std::count(words.begin(), words.end(), word) > 0 ? 1 : 0;
    }
    const auto words = split(text);
    const auto frequency = static_cast<double>(std::count(words.begin(), words.end(), word));
    const double idf = std::max(1e-6, std::log((count - with_word + 0.5) / (with_word + 0.5)));
    score += idf * frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * static_cast<double>(words.size()) / average));
  }
  return score;
}

TEST(Bm25, ScoresAreThoseOfTheFormulaAlsoAfterDeletions) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  RandomStream random(1, "bm25-test");
  std::vector<std::string> corpus;
  for (int i = 0; i < 60; ++i) {
    std::string text;
    for (std::uint64_t n = 3 + random.below(12); n > 0; --n) text += "w" + std::to_string(random.below(25)) + " ";
    corpus.push_back(text);
    add(*store, {test_document("t", std::to_string(i), {text}),
                 test_document("other", std::to_string(i), {"w1 w1 w2 " + text})});
  }
  std::vector<std::string> deleted;
  for (int i = 0; i < 20; ++i) deleted.push_back(std::to_string(i));
  EXPECT_EQ(value_of(store->delete_documents("t", deleted)), 20);
  corpus.erase(corpus.begin(), corpus.begin() + 20);
  for (const std::string query : {"w1", "w2 w3", "w7 w8 w9 w24"}) {
    const auto hits = value_of(store->bm25("t", UntrustedText(query), 1000));
    std::vector<ChunkId> ids;
    for (const Bm25Hit& hit : hits) ids.push_back(hit.chunk);
    const auto chunks = value_of(store->chunks("t", ids));
    std::size_t expected_hits = 0;
    for (const std::string& text : corpus) expected_hits += expected_score(corpus, text, query) > 0 ? 1 : 0;
    EXPECT_EQ(hits.size(), expected_hits);
    for (std::size_t i = 0; i < hits.size(); ++i) {
      EXPECT_NEAR(hits[i].score, expected_score(corpus, chunks[i]->text.bytes(), query), 1e-9) << query;
      if (i == 0) continue;
      EXPECT_TRUE(hits[i - 1].score > hits[i].score ||
                  (hits[i - 1].score == hits[i].score && hits[i - 1].chunk < hits[i].chunk));
    }
  }
}

TEST(Bm25, FilterIsAppliedBeforeTheLimit) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  std::vector<NewDocument> batch;
  for (int i = 0; i < 50; ++i) batch.push_back(test_document("t", "loud" + std::to_string(i), {"fort fort fort"}));
  NewDocument quiet = test_document("t", "quiet", {"a fort among many other words that make it long and weak"});
  quiet.labels = {"mine"};
  batch.push_back(quiet);
  add(*store, batch);
  DocumentFilter filter;
  filter.all_of = {"mine"};
  const auto allowed = value_of(store->select("t", filter));
  EXPECT_THAT(bm25_texts(*store, "t", "fort", allowed.get(), 1), ElementsAre(quiet.chunks[0].text.bytes()));
  const ChunkSet nothing;
  EXPECT_THAT(bm25_texts(*store, "t", "fort", &nothing, 10), IsEmpty());
}

TEST(Bm25, FindsWordsInsideChineseJapaneseAndThaiSentences) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  const std::string chinese = "北京大学的学生喜欢图书馆。";
  const std::string japanese = "東京の図書館で日本語を勉強します。";
  const std::string thai = "ฉันชอบอ่านหนังสือในห้องสมุด";
  add(*store,
      {test_document("t", "zh", {chinese}), test_document("t", "ja", {japanese}), test_document("t", "th", {thai})});
  EXPECT_THAT(bm25_texts(*store, "t", "学生"), ElementsAre(chinese));
  EXPECT_THAT(bm25_texts(*store, "t", "喜欢"), ElementsAre(chinese));
  EXPECT_THAT(bm25_texts(*store, "t", "勉強"), ElementsAre(japanese));
  EXPECT_THAT(bm25_texts(*store, "t", "東京"), ElementsAre(japanese));
  EXPECT_THAT(bm25_texts(*store, "t", "หนังสือ"), ElementsAre(thai));
  EXPECT_THAT(bm25_texts(*store, "t", "ห้องสมุด"), ElementsAre(thai));
}

TEST(Bm25, IgnoresCaseWidthCompositionAndInvisibleCharacters) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  const std::string text = "Stra\u00dfe CAF\u00c9 \uff26\uff4f\uff52\uff54 \uff76\uff80\uff76\uff85 ig\u00adnore";
  add(*store, {test_document("t", "a", {text})});
  for (const char* query : {"STRASSE", "cafe\u0301", "fort", "\u30ab\u30bf\u30ab\u30ca", "ignore"}) {
    EXPECT_THAT(bm25_texts(*store, "t", query), ElementsAre(text)) << query;
  }
}

TEST(Bm25, NeverParsesTheQuery) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  add(*store, {test_document("t", "a", {"the near wall text column"}), test_document("t", "b", {"nothing of that"})});
  const std::vector<std::string> near_wall = {"the near wall text column"};
  EXPECT_EQ(bm25_texts(*store, "t", "NEAR(wall, 2)"), near_wall);
  EXPECT_EQ(bm25_texts(*store, "t", "text : \"wall"), near_wall);
  EXPECT_EQ(bm25_texts(*store, "t", "wall AND absent"), near_wall) << "AND is a word, not an operator";
  EXPECT_EQ(bm25_texts(*store, "t", "wall NOT column"), near_wall) << "NOT is a word, not an operator";
  EXPECT_EQ(bm25_texts(*store, "t", "\"\"\" wall \"\"\""), near_wall);
  EXPECT_EQ(bm25_texts(*store, "t", std::string("wall\0'; DROP TABLE chunk; --", 28)), near_wall);
  EXPECT_EQ(bm25_texts(*store, "t", "\xff\xfe wall \xc3"), near_wall);
  EXPECT_THAT(bm25_texts(*store, "t", "wal*"), IsEmpty()) << "no prefix search";
  for (const char* nothing : {"", " ", "\"", "*", "^", "()", "-- ;", "{}:+-^*\"'", "\u3002\u3001", "rank"}) {
    EXPECT_THAT(bm25_texts(*store, "t", nothing), IsEmpty()) << nothing;
  }
  EXPECT_THAT(bm25_texts(*store, "unknown", "wall"), IsEmpty());
  EXPECT_THAT(bm25_texts(*store, "t", "wall", nullptr, 0), IsEmpty());
  EXPECT_EQ(store->bm25("t", UntrustedText("wall"), -1).error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(value_of(store->check()).ok());
}

TEST(Bm25, FindsAWordThatHasAQuotationMarkInIt) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  const std::string abbreviation = "צה\"ל";  // in Hebrew the mark is part of the word (UAX 29, rule WB7b)
  add(*store, {test_document("t", "a", {abbreviation}), test_document("t", "b", {"צה"})});
  EXPECT_THAT(bm25_texts(*store, "t", abbreviation), ElementsAre(abbreviation));
}

TEST(Bm25, TakesAQueryOfAMegabyte) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  add(*store, {test_document("t", "a", {"needle"})});
  std::string query = "needle";
  for (int i = 0; query.size() < (1U << 20U); ++i) query += " word" + std::to_string(i);
  EXPECT_THAT(bm25_texts(*store, "t", query), ElementsAre("needle"));
  EXPECT_THAT(bm25_texts(*store, "t", std::string(1U << 20U, '"')), IsEmpty());
  EXPECT_THAT(bm25_texts(*store, "t", std::string(1U << 20U, 'x')), IsEmpty());
}

TEST(Bm25, WordsLongerThanTheirLimitStillMatchThemselves) {
  const TemporaryFolder folder;
  const auto store = new_store(folder.path("s"));
  const std::string word(5000, 'q');
  add(*store, {test_document("t", "a", {word})});
  EXPECT_THAT(bm25_texts(*store, "t", word), ElementsAre(word));
}

}  // namespace
}  // namespace casemate::test
