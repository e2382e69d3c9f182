#include "casemate/text/fragments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "casemate/core/random.h"
#include "casemate/core/utf8.h"
#include "casemate/text/segmentation.h"
#include "support/whitespace_tokenizer.h"

namespace casemate {
namespace {

using test::WhitespaceTokenizer;

std::vector<std::string> texts(std::string_view text, const Fragments& fragments) {
  std::vector<std::string> out;
  for (const ByteSpan span : fragments.spans) out.emplace_back(text.substr(span.begin, span.size()));
  return out;
}

TEST(Fragments, EqualWordsGiveEqualFragments) {
  const std::string text = "a b c d e f";
  const auto fragments = split_fragments(text, WhitespaceTokenizer(), {.count = 3});
  EXPECT_EQ(texts(text, *fragments), (std::vector<std::string>{"a b", "c d", "e f"}));
  EXPECT_FALSE(fragments->repeats());
}

TEST(Fragments, ByWordACutFallsAtTheNearestWord) {
  // Pieces of two bytes: aaaaaaaa has 4 tokens, the others 1 each; the equal cut of 7 tokens is at 3.5.
  const std::string text = "aaaaaaaa bb cc dd";
  const auto words = split_fragments(text, WhitespaceTokenizer(2), {.count = 2});
  EXPECT_EQ(texts(text, *words), (std::vector<std::string>{"aaaaaaaa", "bb cc dd"}));
  const auto tokens = split_fragments(text, WhitespaceTokenizer(2), {.count = 2, .unit = FragmentUnit::kToken});
  EXPECT_EQ(texts(text, *tokens), (std::vector<std::string>{"aaaaaa", "aa bb cc dd"}));
}

TEST(Fragments, TooFewWordsRepeatTheLastFragmentAndSaySo) {
  const std::string text = "one two";
  const auto fragments = split_fragments(text, WhitespaceTokenizer(), {.count = 5});
  EXPECT_EQ(texts(text, *fragments), (std::vector<std::string>{"one", "two", "two", "two", "two"}));
  EXPECT_EQ(fragments->distinct, 2U);
  EXPECT_TRUE(fragments->repeats());
}

TEST(Fragments, NoTokensOrABadCountIsAnError) {
  EXPECT_EQ(split_fragments(" ", WhitespaceTokenizer(), {}).error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(split_fragments("x", WhitespaceTokenizer(), {.count = 0}).error().code, ErrorCode::kInvalidOption);
  EXPECT_EQ(split_fragments("x", WhitespaceTokenizer(), {.count = 65}).error().code, ErrorCode::kInvalidOption);
}

TEST(Fragments, RandomPassagesAreCoveredInOrderAndByTokenTheSizesDifferByOneAtMost) {
  RandomStream random(5, "fragments");
  const std::string pieces[] = {"a", "bb", "ccc", " ", " ", ". ", "\xE6\x97\xA5\xE6\x9C\xAC", "\xF0\x9F\x98\x80",
                                "-", "\n"};
  const WhitespaceTokenizer whole, three(3), byte_level(1, true);
  for (int round = 0; round < 500; ++round) {
    std::string text = "x";
    for (std::uint64_t i = random.below(60); i > 0; --i) text += pieces[random.below(std::size(pieces))];
    for (const Tokenizer* tokenizer : {static_cast<const Tokenizer*>(&whole), static_cast<const Tokenizer*>(&three),
                                       static_cast<const Tokenizer*>(&byte_level)}) {
      for (const FragmentUnit unit : {FragmentUnit::kWord, FragmentUnit::kToken}) {
        const int count = 1 + static_cast<int>(random.below(8));
        const auto fragments = split_fragments(text, *tokenizer, {.count = count, .unit = unit});
        ASSERT_TRUE(fragments.ok());
        ASSERT_EQ(fragments->spans.size(), static_cast<std::size_t>(count));
        std::size_t at = 0, least = SIZE_MAX, most = 0;
        for (std::size_t i = 0; i < fragments->distinct; ++i) {
          const ByteSpan span = fragments->spans[i];
          ASSERT_FALSE(span.empty());
          ASSERT_GE(span.begin, at);
          ASSERT_TRUE(trimmed(text, {at, span.begin}).empty());
          ASSERT_TRUE(is_valid_utf8(std::string_view(text).substr(span.begin, span.size())));
          at = span.end;
          const std::size_t tokens =
              tokenizer->tokenize(std::string_view(text).substr(span.begin, span.size()), SpecialTokens::kAsText)
                  .ids.size();
          least = std::min(least, tokens);
          most = std::max(most, tokens);
        }
        ASSERT_TRUE(trimmed(text, {at, text.size()}).empty());
        if (unit == FragmentUnit::kToken && tokenizer == &whole) {
          ASSERT_LE(most - least, 1U) << text;
        }
      }
    }
  }
}

}  // namespace
}  // namespace casemate
