#include "casemate/text/chunker.h"

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

std::string words(int count, const std::string& end = ".") {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i == 0 ? "W" : " w") + std::to_string(i);
  return out + end + " ";
}

TEST(Chunker, ShortTextIsOneChunk) {
  const auto chunks = chunk_text("  One two. Three.  ", WhitespaceTokenizer(), {});
  ASSERT_TRUE(chunks.ok());
  ASSERT_EQ(chunks->size(), 1U);
  EXPECT_EQ((*chunks)[0], (Chunk{{2, 17}, 3}));
}

TEST(Chunker, TextWithoutTokensGivesNoChunks) {
  EXPECT_TRUE(chunk_text("", WhitespaceTokenizer(), {})->empty());
  EXPECT_TRUE(chunk_text(" \n\n ", WhitespaceTokenizer(), {})->empty());
  EXPECT_TRUE(chunk_text(" \n\n ", WhitespaceTokenizer(), {.one_passage = true})->empty());
}

TEST(Chunker, ChunksAreWholeSentencesAndOverlapByWholeSentences) {
  // Sentences of 8 tokens, limit 20, overlap 10: two sentences a chunk, one of them shared.
  const std::string text = words(8) + words(8) + words(8) + words(8);
  const auto chunks = chunk_text(text, WhitespaceTokenizer(), {.max_tokens = 20, .overlap_tokens = 10});
  ASSERT_EQ(chunks->size(), 3U);
  const std::size_t sentence = words(8).size();
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*chunks)[i].span, (ByteSpan{i * sentence, (i + 2) * sentence - 1}));
    EXPECT_EQ((*chunks)[i].tokens, 16U);
  }
}

TEST(Chunker, ALongSentenceIsCutBetweenWordsAndItsPartsOverlap) {
  const std::string text = words(100);
  const auto chunks = chunk_text(text, WhitespaceTokenizer(), {.max_tokens = 20, .overlap_tokens = 5});
  ASSERT_GT(chunks->size(), 5U);
  for (std::size_t i = 1; i < chunks->size(); ++i) {
    const std::size_t begin = (*chunks)[i].span.begin;
    EXPECT_EQ(text[begin - 1], ' ');
    EXPECT_LT(begin, (*chunks)[i - 1].span.end);
  }
}

TEST(Chunker, OnePassageKeepsTheTextWhole) {
  const auto chunks = chunk_text(words(500), WhitespaceTokenizer(), {.one_passage = true});
  ASSERT_EQ(chunks->size(), 1U);
  EXPECT_EQ((*chunks)[0].tokens, 500U);
}

TEST(Chunker, OptionsOutOfRangeAreNamed) {
  for (const ChunkerOptions options :
       {ChunkerOptions{.max_tokens = 15}, ChunkerOptions{.max_tokens = 20, .overlap_tokens = 11},
        ChunkerOptions{.overlap_tokens = -1}}) {
    const auto chunks = chunk_text("x", WhitespaceTokenizer(), options);
    ASSERT_FALSE(chunks.ok());
    EXPECT_EQ(chunks.error().code, ErrorCode::kInvalidOption);
    EXPECT_NE(chunks.error().message.find("chunker."), std::string::npos);
  }
}

/// Counts more tokens at the start of a text than inside it, as tokenizers with a word-start piece do.
class StartHeavyTokenizer final : public Tokenizer {
 public:
  Tokens tokenize(std::string_view text, SpecialTokens mode) const override {
    Tokens tokens = inner_.tokenize(text, mode);
    if (!tokens.ids.empty()) {
      for (int i = 0; i < 3; ++i) {
        tokens.ids.insert(tokens.ids.begin(), 1);
        tokens.spans.insert(tokens.spans.begin(), tokens.spans.front());
      }
    }
    return tokens;
  }
  std::string decode(std::span<const TokenId>) const override { return {}; }
  std::size_t vocabulary_size() const noexcept override { return 1; }
  std::string_view piece(TokenId) const noexcept override { return {}; }
  bool is_special(TokenId) const noexcept override { return false; }
  std::span<const TokenId> prefix() const noexcept override { return {}; }
  std::span<const TokenId> suffix() const noexcept override { return {}; }
  std::span<const TokenId> pair_separator() const noexcept override { return {}; }
  TokenId mask_id() const noexcept override { return -1; }
  TokenId unknown_id() const noexcept override { return -1; }
  TokenId padding_id() const noexcept override { return -1; }

 private:
  WhitespaceTokenizer inner_{3};
};

void expect_invariants(const std::string& text, const Tokenizer& tokenizer, const ChunkerOptions& options) {
  const auto result = chunk_text(text, tokenizer, options);
  ASSERT_TRUE(result.ok());
  const auto& chunks = *result;
  const auto spans = tokenizer.tokenize(text, SpecialTokens::kAsText).spans;
  const auto tokens_in = [&](ByteSpan span) {
    std::size_t count = 0;
    for (const TokenSpan& token : spans) count += token.begin >= span.begin && token.begin < span.end ? 1 : 0;
    return count;
  };
  std::size_t covered = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const ByteSpan span = chunks[i].span;
    ASSERT_LT(span.begin, span.end);
    ASSERT_LE(span.end, text.size());
    ASSERT_TRUE(is_valid_utf8(std::string_view(text).substr(span.begin, span.size())));
    ASSERT_EQ(
        chunks[i].tokens,
        tokenizer.tokenize(std::string_view(text).substr(span.begin, span.size()), SpecialTokens::kAsText).ids.size());
    ASSERT_LE(chunks[i].tokens, static_cast<std::size_t>(options.max_tokens));
    if (i > 0) {
      ASSERT_GT(span.begin, chunks[i - 1].span.begin);
      ASSERT_GT(span.end, chunks[i - 1].span.end);
      ASSERT_LE(tokens_in({std::min(span.begin, covered), covered}), static_cast<std::size_t>(options.overlap_tokens));
    }
    ASSERT_TRUE(trimmed(text, {covered, std::max(covered, span.begin)}).empty());
    covered = span.end;
  }
  ASSERT_TRUE(trimmed(text, {covered, text.size()}).empty());
}

TEST(Chunker, RandomTextsKeepTheInvariants) {
  RandomStream random(11, "chunker");
  const std::string pieces[] = {"a",
                                "bb",
                                "ccc",
                                "longerword",
                                " ",
                                " ",
                                ". ",
                                "! ",
                                "\n",
                                "\n\n",
                                "\xE6\x97\xA5\xE6\x9C\xAC",
                                "\xE3\x80\x82",
                                "\xF0\x9F\x98\x80",
                                ", "};
  const WhitespaceTokenizer whole, four(4), two_bytes(2, true), one_byte(1, true);
  const StartHeavyTokenizer heavy;
  const Tokenizer* tokenizers[] = {&whole, &four, &two_bytes, &one_byte, &heavy};
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (std::uint64_t i = random.below(400); i > 0; --i) text += pieces[random.below(std::size(pieces))];
    ChunkerOptions options;
    options.max_tokens = 16 + static_cast<int>(random.below(60));
    options.overlap_tokens = static_cast<int>(random.below(static_cast<std::uint64_t>(options.max_tokens / 2) + 1));
    for (const Tokenizer* tokenizer : tokenizers) {
      expect_invariants(text, *tokenizer, options);
      if (HasFatalFailure()) FAIL() << "round " << round;
    }
  }
}

TEST(Chunker, AWordOfAMillionCharactersIsCut) {
  expect_invariants(std::string(1'000'000, 'x'), WhitespaceTokenizer(4), {});
}

}  // namespace
}  // namespace casemate
