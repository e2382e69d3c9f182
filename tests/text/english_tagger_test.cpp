// The parts of the English tagger. Hashes and shapes are those that spaCy 3.8.18 and thinc 8.3.14 compute.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <random>

#include "text/english_tokenizer.h"
#include "text/lexeme_hash.h"
#include "text/maxout_kernel.h"
#include "text/tagger_file.h"
#include "text/tagger_network.h"
#include "text/token_features.h"

namespace casemate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> tokens(const std::string& text) {
  static const auto file = TaggerFile::open(english_tagger_bytes());
  static const auto tokenizer = EnglishTokenizer::create(*file);
  std::vector<std::string> out;
  for (const EnglishToken& token : tokenizer->tokenize(text))
    out.push_back(text.substr(token.span.begin, token.span.size()));
  return out;
}

TEST(LexemeHash, IdsOfStringsAreSpacys) {
  EXPECT_EQ(murmur_hash_64a("a"), 11901859001352538922U);
  EXPECT_EQ(murmur_hash_64a("apple"), 8566208034543834098U);
  EXPECT_EQ(murmur_hash_64a("Hello, world"), 10724393509963347760U);
  EXPECT_EQ(murmur_hash_64a("émigré"), 5211506025679762863U);
  EXPECT_EQ(murmur_hash_64a("xxxxxxxxxxxxxxxxx"), 16970747057724827452U);
}

TEST(LexemeHash, RowsOfEmbeddingsAreThincs) {
  EXPECT_THAT(murmur_hash_3(1, 13), ElementsAre(1266879892U, 1356517611U, 318478807U, 3343674364U));
  EXPECT_THAT(murmur_hash_3(8566208034543834098U, 8), ElementsAre(2653853934U, 3922826080U, 3980780901U, 3736755472U));
  EXPECT_THAT(murmur_hash_3(~std::uint64_t{0}, 10), ElementsAre(822701949U, 1838351913U, 2575304842U, 1711549812U));
}

TEST(WordShape, IsSpacys) {
  const std::pair<std::string, std::string> cases[] = {{"Casemate", "Xxxxx"},
                                                       {"U.S.", "X.X."},
                                                       {"12345", "dddd"},
                                                       {"C-3PO", "X-dXX"},
                                                       {"²٣", "dd"},
                                                       {"naïve", "xxxx"},
                                                       {"ǅ", "x"},
                                                       {"日本語日本語", "xxxx"},
                                                       {"", ""},
                                                       {"aaaaaaBBBBBB", "xxxxXXXX"},
                                                       {std::string(99, 'x'), "xxxx"},
                                                       {std::string(100, 'x'), "LONG"}};
  for (const auto& [word, shape] : cases) EXPECT_EQ(word_shape(word), shape);
}

TEST(EnglishTokenizer, CutsWhatSpacyCuts) {
  EXPECT_THAT(tokens("shouldn't've"), ElementsAre("should", "n't", "'ve"));
  EXPECT_THAT(tokens("(e.g., U.S.-led)"), ElementsAre("(", "e.g.", ",", "U.S.-led", ")"));
  EXPECT_THAT(tokens("end.Start a,b x=y 1+1"),
              ElementsAre("end", ".", "Start", "a", ",", "b", "x", "=", "y", "1", "+", "1"));
  EXPECT_THAT(tokens("10km/h 5km 70°F. US$20"), ElementsAre("10", "km/h", "5", "km", "70", "°", "F", ".", "US$", "20"));
  EXPECT_THAT(tokens("hello:) :)..."), ElementsAre("hello", ":)", ":)", "..."));
}

TEST(EnglishTokenizer, LeavesAddressesWhole) {
  for (const char* address :
       {"http://example.com/a?b=c", "www.test.org", "me@mail.com", "https://x.example.org:8080/p-q"})
    EXPECT_THAT(tokens(address), ElementsAre(address));
  EXPECT_THAT(tokens("http://nowhere"), ElementsAre("http://nowhere"));
  EXPECT_THAT(tokens("a.b/c-d"), ElementsAre("a.b", "/", "c", "-", "d"));
}

TEST(EnglishTokenizer, TakesLinearTimeForAMillionBytes) {
  // A quadratic step takes minutes.
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string part :
       {"a", "(", ".", "a.", "a@", "-", "a-", "'s", "x/y:", "\xFF", "é", "5km", "．", "a@b.", ":)"}) {
    std::string text;
    while (text.size() < 1'000'000) text += part;
    std::size_t bytes = 0;
    for (const std::string& token : tokens(text)) bytes += token.size();
    EXPECT_EQ(bytes, text.size());
  }
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 60);
}

TEST(TaggerFile, DamageIsNoticed) {
  const std::string good(english_tagger_bytes());
  ASSERT_TRUE(TaggerFile::open(good).ok());
  std::string changed = good;
  changed[good.size() / 2] ^= 1;
  const auto damaged = TaggerFile::open(changed);
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(damaged.error().message, HasSubstr("checksum"));
  EXPECT_FALSE(TaggerFile::open(good.substr(0, good.size() - 1)).ok());
  EXPECT_FALSE(TaggerFile::open("").ok());
  EXPECT_FALSE(TaggerFile::open("CASETAGR").ok());
  changed = good;
  changed[8] = 2;
  EXPECT_THAT(TaggerFile::open(changed).error().message, HasSubstr("version 2"));
  const auto file = TaggerFile::open(good);
  EXPECT_FALSE(file->section("none").ok());
  EXPECT_FALSE(file->floats("output_bias", 51).ok());
}

TEST(MaxoutKernel, IsTheSumInOrderForEveryNumberOfRows) {
  // Overlapping rows as the window layers have them; volatile keeps the compiler from fusing or reordering.
  constexpr std::size_t kInputs = 288;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> in(13 * 96), weights(kInputs * kernels::kMaxoutOutputs), bias(kernels::kMaxoutOutputs);
  for (auto* values : {&in, &weights, &bias}) {
    for (float& value : *values) value = uniform(random);
  }
  std::vector<float> expected;
  for (std::size_t row = 0; row < 11; ++row) {
    for (std::size_t unit = 0; unit < 96; ++unit) {
      float best = -INFINITY;
      for (std::size_t piece = 0; piece < 3; ++piece) {
        volatile float sum = 0;
        for (std::size_t i = 0; i < kInputs; ++i) {
          const volatile float product = in[row * 96 + i] * weights[(i * 3 + piece) * 96 + unit];
          sum = sum + product;
        }
        best = std::max(best, sum + bias[piece * 96 + unit]);
      }
      expected.push_back(best);
    }
  }
  for (std::size_t rows = 1; rows <= 11; ++rows) {
    std::vector<float> out(rows * 96);
    kernels::maxout(in.data(), 96, kInputs, rows, weights.data(), bias.data(), out.data());
    ASSERT_TRUE(std::equal(out.begin(), out.end(), expected.begin())) << rows;
  }
}

TEST(TaggerNetwork, NoTokensHaveNoTags) {
  const auto file = TaggerFile::open(english_tagger_bytes());
  const auto network = TaggerNetwork::create(*file);
  ASSERT_TRUE(network.ok());
  EXPECT_TRUE(network->tag({}).empty());
  EXPECT_EQ(network->tags(), 50U);
}

}  // namespace
}  // namespace casemate
