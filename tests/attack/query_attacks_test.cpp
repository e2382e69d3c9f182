#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "casemate/attack/query_as_poison.h"
#include "casemate/attack/query_noise.h"
#include "small_corpus.h"

namespace casemate {
namespace {

using test::SmallCorpus;

CraftedAttack craft(const SmallCorpus& corpus, const QueryAsPoisonOptions& options) {
  const auto attack = QueryAsPoison::create(options);
  EXPECT_TRUE(attack.ok());
  auto crafted = (*attack)->craft(corpus.input(), {});
  EXPECT_TRUE(crafted.ok()) << crafted.error().message;
  return *std::move(crafted);
}

TEST(QueryAsPoison, ThreeIrrelevantDocumentsAQueryNeverTheOneThatAnswersIt) {
  const SmallCorpus corpus;
  const auto crafted = craft(corpus, {});
  ASSERT_EQ(crafted.documents.size(), 3 * corpus.targets.size());
  for (std::size_t t = 0; t < corpus.targets.size(); ++t) {
    std::set<std::string> sources;
    for (std::size_t i = 3 * t; i < 3 * t + 3; ++i) {
      EXPECT_EQ(crafted.documents[i].target_queries, std::vector<std::string>{corpus.targets[t].query_id});
      EXPECT_NE(crafted.documents[i].source_document, corpus.targets[t].gold_document);
      sources.insert(crafted.documents[i].source_document);
    }
    EXPECT_EQ(sources.size(), 3U);
  }
}

TEST(QueryAsPoison, TheQueryStandsWhereItWasAskedForAndTheRestIsTheDocument) {
  const SmallCorpus corpus;
  for (const PoisonPlace place : {PoisonPlace::kStart, PoisonPlace::kMiddle, PoisonPlace::kEnd}) {
    for (const int repeat : {1, 3}) {
      const auto crafted = craft(corpus, {place, repeat, 1});
      const CraftedDocument& document = crafted.documents[0];
      const std::string& original = corpus.passage(document.source_document).text.bytes();
      const std::string query = corpus.targets[0].query.bytes();
      std::string planted = query;
      for (int i = 1; i < repeat; ++i) planted += " " + query;
      ASSERT_EQ(document.changed.size(), 1U);
      const auto [begin, end] = document.changed[0];
      const std::string& text = document.text.bytes();  // ASCII: characters are bytes
      EXPECT_EQ(text.substr(begin, end - begin), planted);
      if (place == PoisonPlace::kStart) {
        EXPECT_EQ(text, planted + " " + original);
      } else if (place == PoisonPlace::kEnd) {
        EXPECT_EQ(text, original + " " + planted);
      } else {
        EXPECT_EQ(text.substr(0, begin) + text.substr(end + 1), original);
        EXPECT_GT(begin, original.size() / 4);
        EXPECT_LT(begin, original.size() * 3 / 4);
      }
    }
  }
}

TEST(QueryAsPoison, PlaceAndRepetitionDoNotChangeWhichDocumentsAreAltered) {
  const SmallCorpus corpus;
  const auto start = craft(corpus, {PoisonPlace::kStart, 1, 3});
  const auto middle = craft(corpus, {PoisonPlace::kMiddle, 3, 3});
  for (std::size_t i = 0; i < start.documents.size(); ++i)
    EXPECT_EQ(start.documents[i].source_document, middle.documents[i].source_document);
}

TEST(QueryAsPoison, ACorpusThatIsTooSmallIsRefused) {
  SmallCorpus corpus;
  corpus.passages.resize(3);
  const auto attack = QueryAsPoison::create({});
  EXPECT_EQ((*attack)->craft(corpus.input(), {}).error().code, ErrorCode::kInvalidArgument);
}

TEST(QueryNoise, TheNormStaysAndTheCosineFallsAsSigmaSays) {
  const auto noise = QueryNoise::create({0.1});
  ASSERT_TRUE(noise.ok());
  EXPECT_TRUE((*noise)->disturbs_queries());
  double cosines = 0;
  constexpr int kQueries = 400;
  for (int q = 0; q < kQueries; ++q) {
    std::vector<float> embedding(384, 0.0F);
    embedding[static_cast<std::size_t>(q % 384)] = 1.0F;
    const auto before = embedding;
    (*noise)->disturb("query " + std::to_string(q), 7, embedding);
    double norm = 0;
    for (std::size_t i = 0; i < embedding.size(); ++i) {
      norm += static_cast<double>(embedding[i]) * static_cast<double>(embedding[i]);
      cosines += static_cast<double>(embedding[i]) * static_cast<double>(before[i]) / kQueries;
    }
    EXPECT_NEAR(norm, 1, 1e-5);
  }
  // 1 / sqrt(1 + 384 * 0.01) for large dimensions.
  EXPECT_NEAR(cosines, 1 / std::sqrt(4.84), 0.02);
}

TEST(QueryNoise, DependsOnQueryAndSeedAlone) {
  const auto noise = QueryNoise::create({0.1});
  const std::vector<float> plain = {0.6F, 0.8F};
  const auto disturbed = [&](std::string_view query, std::uint64_t seed) {
    auto out = plain;
    (*noise)->disturb(query, seed, out);
    return out;
  };
  EXPECT_EQ(disturbed("a", 1), disturbed("a", 1));
  EXPECT_NE(disturbed("a", 1), disturbed("b", 1));
  EXPECT_NE(disturbed("a", 1), disturbed("a", 2));
  auto still = plain;
  (*QueryNoise::create({0}))->disturb("a", 1, still);
  EXPECT_EQ(still, plain);
  EXPECT_FALSE(QueryNoise::create({std::nan("")}).ok());
}

}  // namespace
}  // namespace casemate
