#include "casemate/text/keywords.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "casemate/core/utf8.h"
#include "casemate/text/stop_words.h"

namespace casemate {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

const KeywordExtractor& extractor() {
  static const auto made = KeywordExtractor::create();
  return **made;
}

std::vector<std::string> content_words(const std::string& text) {
  std::vector<std::string> out;
  for (const TaggedToken& token : extractor().tag(text).tokens) {
    if (is_content_word(text, token)) out.push_back(text.substr(token.span.begin, token.span.size()));
  }
  return out;
}

/// What holds for every text: spans ascend and stay inside, all but white space is covered, lemmas and keywords are
/// valid and in order.
void expect_sound(const std::string& text) {
  const TaggedText tagged = extractor().tag(text);
  std::size_t end = 0;
  for (const TaggedToken& token : tagged.tokens) {
    ASSERT_LE(end, token.span.begin);
    ASSERT_LT(token.span.begin, token.span.end);
    ASSERT_LE(token.span.end, text.size());
    if (tagged.method == KeywordMethod::kEnglishTagger) {
      // Nothing but one blank lies between two tokens.
      ASSERT_LE(token.span.begin - end, 1U);
      if (token.span.begin != end) {
        ASSERT_EQ(text[end], ' ');
      }
    }
    end = token.span.end;
    ASSERT_TRUE(is_valid_utf8(token.lemma));
  }
  const KeywordSet set = KeywordExtractor::extract(text, tagged);
  for (std::size_t i = 0; i < set.keywords.size(); ++i) {
    ASSERT_FALSE(set.keywords[i].empty());
    ASSERT_TRUE(is_valid_utf8(set.keywords[i]));
    if (i > 0) {
      ASSERT_LT(set.keywords[i - 1], set.keywords[i]);
    }
  }
}

std::string repeated(std::string_view part, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += part;
  return out;
}

TEST(Keywords, AHyphenEndsARun) {
  EXPECT_THAT(extractor().extract("state-owned railway").keywords,
              ElementsAre("railway", "state", "state-owned railway"));
}

TEST(Keywords, TheSetKeepsStopWordsAndTheCallerDropsThem) {
  const auto keywords = extractor().extract("not now").keywords;
  EXPECT_THAT(keywords, Contains("now"));
  EXPECT_TRUE(is_stop_or_punctuation("now"));
}

TEST(Keywords, StopWordsAreNltksAndPunctuationIsAPartOfTheAsciiRow) {
  for (const char* word : {"now", "don't", "yourselves", "a", "%&", "!", "{|}~", ","})
    EXPECT_TRUE(is_stop_or_punctuation(word));
  // "one", "first" and "name" are answers; what is not in ASCII order is no part of the row; the case counts.
  for (const char* word : {"one", "first", "name", "...", "--", "Now", "。"})
    EXPECT_FALSE(is_stop_or_punctuation(word));
  EXPECT_TRUE(is_stop_word("wouldn't"));
  EXPECT_FALSE(is_stop_word("zebra"));
}

TEST(Keywords, ContentWordsLeaveFunctionWordsOut) {
  EXPECT_THAT(content_words("The doctor could not see her old patients and Mary's dog before NOON."),
              ElementsAre("doctor", "see", "old", "patients", "Mary", "dog", "NOON"));
}

TEST(Keywords, SpansAreBytesOfTheTextAsItWasGiven) {
  const std::string text = "Caf\xC3\xA9 \xFFowner's  caf\xC3";
  const TaggedText tagged = extractor().tag(text);
  std::vector<std::string> words;
  for (const TaggedToken& token : tagged.tokens) words.push_back(text.substr(token.span.begin, token.span.size()));
  EXPECT_THAT(words, ElementsAre("Caf\xC3\xA9", "\xFF", "owner", "'s", " ", "caf", "\xC3"));
  EXPECT_EQ(tagged.tokens[1].lemma, "\xEF\xBF\xBD");
}

TEST(Keywords, TheResultDoesNotDependOnWhatStandsElsewhere) {
  // Four tokens on each side are all that a tag depends on, so a sentence's own tags return at any place of a text,
  // and so at any place of a block.
  const std::string apart = " ; ; ; ; ; ";
  const std::string sentence = "The wolves ate the calves near the old bridge.";
  const TaggedText once = extractor().tag(apart + sentence + apart);
  const TaggedText often = extractor().tag(repeated(apart + sentence + apart, 60));
  ASSERT_GT(often.tokens.size(), 1000U);
  std::vector<std::string_view> expected;
  for (std::size_t i = 6; i < 16; ++i) expected.push_back(once.tokens[i].tag);
  const std::size_t period = (often.tokens.size() + 1) / 60;  // one blank more between than at the end
  for (std::size_t copy = 0; copy < 60; ++copy) {
    std::vector<std::string_view> found;
    const std::size_t shift = copy * period;
    for (std::size_t i = 6; i < 16; ++i) found.push_back(often.tokens[shift + i].tag);
    ASSERT_EQ(found, expected) << copy;
  }
}

TEST(Keywords, OtherScriptsAreCutByUnicodesRulesAndTheResultSaysSo) {
  const auto russian = extractor().extract("Столица Франции, Париж!");
  EXPECT_EQ(russian.method, KeywordMethod::kUnicodeWords);
  EXPECT_EQ(keyword_method_name(russian.method), "unicode-words");
  EXPECT_THAT(russian.keywords,
              ElementsAre("Столица Франции, Париж!", "париж", "столица", "столица франции", "франции"));
  const auto chinese = extractor().extract("巴黎是法国的首都。");
  EXPECT_EQ(chinese.method, KeywordMethod::kUnicodeWords);
  EXPECT_THAT(chinese.keywords, Contains("巴黎"));
  EXPECT_THAT(chinese.keywords, Contains("首都"));
  EXPECT_EQ(extractor().extract("עיר הבירה היא פריז").method, KeywordMethod::kUnicodeWords);
  // A name in another script does not make an English sentence foreign.
  EXPECT_EQ(extractor().extract("Tokyo (東京) is the capital of Japan.").method, KeywordMethod::kEnglishTagger);
}

TEST(HostileKeywords, EmptyAndBlankTextsHaveNone) {
  for (const char* text : {"", " ", "  \n\t ", "\xC2\xA0"})
    EXPECT_THAT(extractor().extract(text).keywords, IsEmpty()) << text;
}

TEST(HostileKeywords, BrokenControlAndRightToLeftTextsAreDefined) {
  const std::string nul("a\0b \0 c", 7);
  for (const std::string& text :
       {nul, std::string("\xFF\xFE\x80"), std::string("\xE2\x82"), std::string("abc\xF0\x9F\x98"),
        std::string("\x01\x02 \x7F"), std::string("\u202Eevil\u202C text\u200B\uFEFF"),
        std::string("😀😀👍🏽👩‍👩‍👧 ok"), std::string("שלום hello עולם"),
        std::string("\r\n\r\n.\r\n"), std::string("'''''''\"\"\"(((...)))"), std::string("http://@@@@@:://///")})
    expect_sound(text);
  EXPECT_THAT(extractor().extract(nul).keywords, Not(IsEmpty()));
}

TEST(HostileKeywords, LongTextsWithoutBlanksAreDefined) {
  expect_sound(repeated("a", 1'000'000));
  expect_sound(repeated("\u4E2D", 100'000));
  for (const char* part : {"(", "a.", "-", "'s", "x/y:", "\xFF", "5km", "."}) expect_sound(repeated(part, 3'000));
}

TEST(HostileKeywords, AHundredThousandTokensAreTagged) {
  const std::string text = repeated("The ships sailed to the old port . ", 12'500);
  const TaggedText tagged = extractor().tag(text);
  ASSERT_EQ(tagged.tokens.size(), 100'000U);
  EXPECT_EQ(tagged.tokens[50'001].lemma, "ship");
  EXPECT_THAT(KeywordExtractor::extract(text, tagged).keywords, Contains("old port"));
}

TEST(Keywords, ThreadsMayShareAnExtractor) {
  const std::string text = "Marie Curie won two Nobel Prizes.";
  const auto expected = extractor().extract(text).keywords;
  std::vector<std::thread> threads;
  std::vector<std::vector<std::string>> found(4);
  for (auto& each : found) threads.emplace_back([&each, &text] { each = extractor().extract(text).keywords; });
  for (std::thread& thread : threads) thread.join();
  for (const auto& each : found) EXPECT_EQ(each, expected);
}

}  // namespace
}  // namespace casemate
