#include "casemate/text/segmentation.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace casemate {
namespace {

std::vector<std::string> texts(std::string_view text, const std::vector<ByteSpan>& spans) {
  std::vector<std::string> out;
  for (const ByteSpan span : spans) out.emplace_back(text.substr(span.begin, span.size()));
  return out;
}

TEST(Sentences, TouchAndAreTogetherTheWholeText) {
  const std::string text =
      "  One. Two! Is it 3.5 metres? \xE6\x97\xA5\xE6\x9C\xAC\xE3\x80\x82\xE5\x83\x95\xE3\x80\x82\n\nNext";
  const auto spans = sentence_spans(text);
  std::size_t at = 0;
  for (const ByteSpan span : spans) {
    EXPECT_EQ(span.begin, at);
    at = span.end;
  }
  EXPECT_EQ(at, text.size());
  EXPECT_EQ(texts(text, spans),
            (std::vector<std::string>{"  One. ", "Two! ", "Is it 3.5 metres? ", "\xE6\x97\xA5\xE6\x9C\xAC\xE3\x80\x82",
                                      "\xE5\x83\x95\xE3\x80\x82\n\n", "Next"}));
}

TEST(Sentences, WrappedLinesAreOneSentenceAndShortLinesAreNot) {
  const std::string wrapped = "This line is long enough that it must have been\nwrapped by an editor. End.";
  EXPECT_EQ(sentence_spans(wrapped).size(), 2U);
  const std::string list = "Heading\nfirst item\nsecond item";
  EXPECT_EQ(sentence_spans(list).size(), 3U);
}

TEST(Sentences, NothingComesFromNothing) {
  EXPECT_TRUE(sentence_spans("").empty());
  EXPECT_TRUE(word_spans("").empty());
  EXPECT_TRUE(word_spans(" ,.! ").empty());
}

TEST(Words, AreFoundInSeveralScripts) {
  const std::string text =
      "It's 3.5 kg, na\xC3\xAFve; "
      "\xE0\xB8\xAA\xE0\xB8\xA7\xE0\xB8\xB1\xE0\xB8\xAA\xE0\xB8\x94\xE0\xB8\xB5\xE0\xB8\x8A\xE0\xB8\xB2\xE0\xB8\xA7\xE0"
      "\xB9\x82\xE0\xB8\xA5\xE0\xB8\x81";
  const auto words = texts(text, word_spans(text));
  ASSERT_EQ(words.size(), 7U);
  EXPECT_EQ(words[0], "It's");
  EXPECT_EQ(words[1], "3.5");
  EXPECT_EQ(words[3], "na\xC3\xAFve");
  // Thai "hello world" without blanks, by ICU's dictionary: hello / people of / world.
  EXPECT_EQ(words[4], "\xE0\xB8\xAA\xE0\xB8\xA7\xE0\xB8\xB1\xE0\xB8\xAA\xE0\xB8\x94\xE0\xB8\xB5");
}

TEST(Segmentation, BrokenUtf8IsAccepted) {
  const std::string text = "a \xFF\xC0 b. \x80 C";
  std::size_t at = 0;
  for (const ByteSpan span : sentence_spans(text)) at = span.end;
  EXPECT_EQ(at, text.size());
  EXPECT_GE(word_spans(text).size(), 3U);
}

TEST(Segmentation, TextWithoutBreaksTakesLinearTime) {
  for (const std::string unit : {"a", "\xE6\x97\xA5", ".", "\n", " "}) {
    const auto seconds = [&](std::size_t bytes) {
      std::string text;
      while (text.size() < bytes) text += unit;
      const auto start = std::chrono::steady_clock::now();
      (void)sentence_spans(text);
      (void)word_spans(text);
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    const double small = seconds(200'000);
    EXPECT_LT(seconds(1'600'000), 8 * 4 * (small + 0.02)) << unit;
  }
}

}  // namespace
}  // namespace casemate
