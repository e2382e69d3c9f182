#include "casemate/attack/corpus_poisons.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "small_corpus.h"

namespace casemate {
namespace {

using test::SmallCorpus;

std::vector<std::string> sorted_words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  std::sort(words.begin(), words.end());
  return words;
}

template <class T, class Options>
CraftedAttack craft(const SmallCorpus& corpus, const Options& options) {
  const auto attack = T::create(options);
  EXPECT_TRUE(attack.ok());
  auto crafted = (*attack)->craft(corpus.input(), {});
  EXPECT_TRUE(crafted.ok());
  return *std::move(crafted);
}

TEST(CorpusPoisons, TheRateIsAShareOfTheCorpusRoundedAndTheThreeAlterTheSamePassages) {
  const SmallCorpus corpus;
  const auto copies = craft<NearDuplicate>(corpus, NearDuplicateOptions{.rate = 0.3});
  const auto shuffled = craft<Irrelevant>(corpus, IrrelevantOptions{.rate = 0.3});
  const auto wrong = craft<Contradictory>(corpus, ContradictoryOptions{.rate = 0.3});
  ASSERT_EQ(copies.documents.size(), 4U);  // 3.6
  std::set<std::string> sources;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(copies.documents[i].source_document, shuffled.documents[i].source_document);
    EXPECT_EQ(copies.documents[i].source_document, wrong.documents[i].source_document);
    sources.insert(copies.documents[i].source_document);
  }
  EXPECT_EQ(sources.size(), 4U);
}

TEST(CorpusPoisons, ANearDuplicateIsVerbatimUnlessEditsAreAsked) {
  const SmallCorpus corpus;
  for (const CraftedDocument& document : craft<NearDuplicate>(corpus, NearDuplicateOptions{.rate = 1}).documents) {
    EXPECT_EQ(document.text, corpus.passage(document.source_document).text);
    EXPECT_TRUE(document.changed.empty());
    EXPECT_EQ(document.target_queries.size(), 2U);
  }
  for (const auto& document : craft<NearDuplicate>(corpus, NearDuplicateOptions{.rate = 1, .edits = 3}).documents) {
    const auto original = sorted_words(corpus.passage(document.source_document).text.bytes());
    const auto copy = sorted_words(document.text.bytes());
    EXPECT_EQ(copy.size() + 3, original.size());
    EXPECT_TRUE(std::includes(original.begin(), original.end(), copy.begin(), copy.end()));
    EXPECT_EQ(document.changed.size(), 3U);
  }
}

TEST(CorpusPoisons, AnIrrelevantDocumentHasTheSameWordsInAnotherOrder) {
  const SmallCorpus corpus;
  for (const CraftedDocument& document : craft<Irrelevant>(corpus, IrrelevantOptions{.rate = 1}).documents) {
    const UntrustedText& original = corpus.passage(document.source_document).text;
    EXPECT_EQ(sorted_words(document.text.bytes()), sorted_words(original.bytes()));
    EXPECT_NE(document.text, original);
  }
}

TEST(CorpusPoisons, AContradictionSwapsEveryOccurrenceForAnAnswerOfTheSameKindFromElsewhere) {
  const SmallCorpus corpus;
  const auto crafted = craft<Contradictory>(corpus, ContradictoryOptions{.rate = 1});
  EXPECT_EQ(crafted.fell_back, 0U);
  std::set<std::string> kinds;
  for (const CraftedDocument& document : crafted.documents) {
    ASSERT_EQ(document.target_queries.size(), 1U);
    const auto target = std::find_if(corpus.targets.begin(), corpus.targets.end(), [&](const AttackTarget& each) {
      return each.query_id == document.target_queries[0];
    });
    const bool year = target->query_id.starts_with("year");
    kinds.insert(year ? "year" : "name");
    EXPECT_EQ(target->gold_document, document.source_document);
    EXPECT_EQ(document.text.bytes().find(target->answers[0].bytes()), std::string::npos) << document.text.bytes();
    ASSERT_EQ(document.changed.size(), year ? 2U : 1U);
    for (const CharacterSpan& span : document.changed) {
      const std::string wrong = document.text.bytes().substr(span.begin, span.end - span.begin);
      const bool known = std::any_of(corpus.targets.begin(), corpus.targets.end(), [&](const AttackTarget& other) {
        return other.answers[0].bytes() == wrong && other.gold_document != target->gold_document &&
               other.query_id.starts_with(year ? "year" : "name");
      });
      EXPECT_TRUE(known) << wrong;
    }
  }
  EXPECT_EQ(kinds.size(), 2U);
}

TEST(CorpusPoisons, APassageWithoutItsAnswerIsCopiedAndCounted) {
  SmallCorpus corpus;
  for (AttackTarget& target : corpus.targets) {
    if (target.gold_document == "p0") target.answers = {UntrustedText("not in the text")};
  }
  std::erase_if(corpus.targets, [](const AttackTarget& target) { return target.gold_document == "p1"; });
  // Only a part of a longer word: 18 stands in 1814 and nowhere by itself.
  for (AttackTarget& target : corpus.targets) {
    if (target.gold_document == "p2") target.answers = {UntrustedText("18")};
  }
  const auto crafted = craft<Contradictory>(corpus, ContradictoryOptions{.rate = 1});
  EXPECT_EQ(crafted.fell_back, 3U);
  for (const CraftedDocument& document : crafted.documents) {
    const std::string& source = document.source_document;
    const bool expected = source == "p0" || source == "p1" || source == "p2";
    EXPECT_EQ(document.fell_back, expected) << source;
    EXPECT_EQ(document.text == corpus.passage(source).text, expected) << source;
    EXPECT_EQ(document.note.empty(), !expected);
  }
}

}  // namespace
}  // namespace casemate
