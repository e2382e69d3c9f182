// Ids and spans of byte-level BPE and Unigram against Hugging Face's tokenizers library
// (tests/golden/tokenizers, made by tools/make_tokenizer_golden.py).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "casemate/core/file_system.h"
#include "casemate/core/utf8.h"
#include "casemate/text/tokenizer_loader.h"
#include "support/paths.h"

namespace casemate {
namespace {

/// Byte offset of each code point of `text`, and its end.
std::vector<std::size_t> character_starts(const std::string& text) {
  std::vector<std::size_t> starts;
  for (std::size_t at = 0; at < text.size(); at += read_code_point(text, at).length) starts.push_back(at);
  starts.push_back(text.size());
  return starts;
}

class TokenizerGolden : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto text = read_file(test::golden_path(std::string("tokenizers/") + GetParam() + ".json"));
    ASSERT_TRUE(text.ok()) << text.error().message;
    golden_ = nlohmann::json::parse(*text);
    auto made = parse_tokenizer_json(golden_["tokenizer"].dump());
    ASSERT_TRUE(made.ok()) << made.error().message;
    tokenizer_ = *std::move(made);
  }
  nlohmann::json golden_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_P(TokenizerGolden, IdsAreThoseOfHuggingFace) {
  ASSERT_GT(golden_["cases"].size(), 20U);
  for (const auto& entry : golden_["cases"]) {
    const auto text = entry["text"].get<std::string>();
    const Tokens tokens = tokenizer_->tokenize(text, SpecialTokens::kHuggingFace);
    EXPECT_EQ(tokens.ids, entry["ids"].get<std::vector<TokenId>>()) << entry["text"];
    std::vector<TokenId> framed(tokenizer_->prefix().begin(), tokenizer_->prefix().end());
    framed.insert(framed.end(), tokens.ids.begin(), tokens.ids.end());
    framed.insert(framed.end(), tokenizer_->suffix().begin(), tokenizer_->suffix().end());
    EXPECT_EQ(framed, entry["framed"].get<std::vector<TokenId>>()) << entry["text"];
  }
}

TEST_P(TokenizerGolden, SpansLieInTheTextAndAscend) {
  for (const auto& entry : golden_["cases"]) {
    const auto text = entry["text"].get<std::string>();
    const Tokens tokens = tokenizer_->tokenize(text, SpecialTokens::kHuggingFace);
    ASSERT_EQ(tokens.spans.size(), tokens.ids.size());
    std::size_t last = 0;
    for (const TokenSpan& span : tokens.spans) {
      EXPECT_LE(span.begin, span.end);
      EXPECT_LE(span.end, text.size());
      EXPECT_GE(span.begin, last) << entry["text"];
      last = span.begin;
    }
  }
}

TEST_P(TokenizerGolden, InTextModeNoSpecialTokenComesOut) {
  const std::string text = "<s> </s> <mask> <pad> <unk> glued<mask>here";
  for (const TokenId id : tokenizer_->tokenize(text, SpecialTokens::kAsText).ids) {
    EXPECT_TRUE(!tokenizer_->is_special(id) || id == tokenizer_->unknown_id());
  }
}

TEST_P(TokenizerGolden, AVeryLongWordTakesLinearTime) {
  const Tokens tokens = tokenizer_->tokenize(std::string(400'000, 'a'), SpecialTokens::kAsText);
  EXPECT_GT(tokens.ids.size(), 1000U);
}

INSTANTIATE_TEST_SUITE_P(Kinds, TokenizerGolden, testing::Values("byte_level_bpe", "unigram"));

TEST(BpeSpans, AreThoseOfHuggingFace) {
  const auto text = read_file(test::golden_path("tokenizers/byte_level_bpe.json"));
  ASSERT_TRUE(text.ok());
  const auto golden = nlohmann::json::parse(*text);
  const auto tokenizer = parse_tokenizer_json(golden["tokenizer"].dump());
  ASSERT_TRUE(tokenizer.ok());
  for (const auto& entry : golden["cases"]) {
    const auto source = entry["text"].get<std::string>();
    const std::vector<std::size_t> starts = character_starts(source);
    const Tokens tokens = (*tokenizer)->tokenize(source, SpecialTokens::kHuggingFace);
    ASSERT_EQ(tokens.spans.size(), entry["offsets"].size());
    for (std::size_t i = 0; i < tokens.spans.size(); ++i) {
      const TokenSpan expected{starts[entry["offsets"][i][0].get<std::size_t>()],
                               starts[entry["offsets"][i][1].get<std::size_t>()]};
      EXPECT_EQ(tokens.spans[i], expected) << entry["text"] << " token " << i;
    }
  }
}

TEST(TokenizerJson, BrokenFilesAreRefusedWithTheField) {
  for (const char* text :
       {"", "[]", "{\"model\":{}}", "{\"model\":{\"type\":\"Other\"}}",
        "{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":-1}}}",
        "{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":99999999}}}",
        "{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0}},\"normalizer\":{\"type\":\"BertNormalizer\"}}",
        "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"ab\"]}}",
        "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1]],\"unk_id\":5}}",
        "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",\"b\"]],\"unk_id\":0}}"}) {
    const auto made = parse_tokenizer_json(text);
    ASSERT_FALSE(made.ok()) << text;
    EXPECT_NE(made.error().message.find("tokenizer.json"), std::string::npos) << made.error().message;
  }
}

}  // namespace
}  // namespace casemate
