#include "casemate/defend/rerank.h"

#include <gtest/gtest.h>

#include <cmath>

#include "casemate/encoder/heads.h"
#include "pool.h"
#include "testing/scripted_llm.h"

namespace casemate {
namespace {

using test::candidate;
using test::kept_ids;
using test::verdict_about;

/// After a text that says " ferry" the word " ferry" is likely.
std::unique_ptr<testing::ScriptedLlm> echo() {
  testing::ScriptedLlmOptions options;
  options.vocabulary = {" ferry", " bridge"};
  options.distribution = [](std::span<const TokenId> tokens, std::string_view text) {
    (void)tokens;
    std::vector<double> weights(3 + 2 + 256, 1.0);
    if (text.find("ferry") != std::string_view::npos) weights[3] = 1000;
    return weights;
  };
  return *testing::ScriptedLlm::create(std::move(options));
}

class LengthReranker final : public Reranker {
 public:
  Result<std::vector<float>> score(std::string_view /*query*/,
                                   std::span<const std::string_view> passages) const override {
    std::vector<float> out;
    for (const std::string_view passage : passages) out.push_back(static_cast<float>(passage.size()));
    return out;
  }
};

TEST(Rerank, ByLikelihoodThePassageThatMakesTheQueryLikelyComesFirst) {
  const auto model = echo();
  DefenceServices services;
  services.model = model.get();
  const auto made = Rerank::create({}, services);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const std::vector<PassageCandidate> pool = {candidate(1, 3, {}, "a tunnel"), candidate(2, 2, {}, "the ferry"),
                                              candidate(3, 1, {}, "a road")};
  DefenceQuery query;
  query.text = UntrustedText(" ferry");
  const auto ranking = (*made)->rank(query, pool, 2, {});
  ASSERT_TRUE(ranking.ok()) << ranking.error().message;
  EXPECT_EQ(kept_ids(*ranking, pool), (std::vector<ChunkId>{2, 1}));
  EXPECT_EQ(verdict_about(*ranking, 2).decision, Decision::kMoved);
  EXPECT_EQ(verdict_about(*ranking, 3).decision, Decision::kDropped);
  // 1000 of 1000 + 260 equal weights, by hand.
  EXPECT_NEAR(*verdict_about(*ranking, 2).score, std::log(1000.0 / 1260.0), 1e-5);
}

TEST(Rerank, ByCrossEncoderScoresDecideAndTiesKeepTheirOrder) {
  const LengthReranker reranker;
  DefenceServices services;
  services.reranker = &reranker;
  const auto made = Rerank::create({20, RerankBy::kCrossEncoder}, services);
  ASSERT_TRUE(made.ok());
  const std::vector<PassageCandidate> pool = {candidate(1, 3, {}, "aa"), candidate(2, 2, {}, "bb"),
                                              candidate(3, 1, {}, "longest")};
  const auto ranking = (*made)->rank({}, pool, 3, {});
  ASSERT_TRUE(ranking.ok());
  EXPECT_EQ(kept_ids(*ranking, pool), (std::vector<ChunkId>{3, 1, 2}));
}

TEST(Rerank, NoCandidatesGiveAnEmptyRanking) {
  const LengthReranker reranker;
  DefenceServices services;
  services.reranker = &reranker;
  const auto made = Rerank::create({20, RerankBy::kCrossEncoder}, services);
  EXPECT_TRUE((*made)->rank({}, {}, 3, {})->passages.empty());
}

TEST(Rerank, APassageLargerThanTheModelIsDroppedAndTheRestIsStillRanked) {
  testing::ScriptedLlmOptions options;
  options.vocabulary = {" ferry"};
  options.answers = {{"", " ferry"}};
  options.context_tokens = 300;
  const auto model = *testing::ScriptedLlm::create(std::move(options));
  DefenceServices services;
  services.model = model.get();
  const auto made = Rerank::create({}, services);
  const std::vector<PassageCandidate> pool = {candidate(1, 2, {}, std::string(5000, 'x')),
                                              candidate(2, 1, {}, "short")};
  DefenceQuery query;
  query.text = UntrustedText(" ferry");
  const auto ranking = (*made)->rank(query, pool, 2, {});
  ASSERT_TRUE(ranking.ok()) << ranking.error().message;
  EXPECT_EQ(kept_ids(*ranking, pool), std::vector<ChunkId>{2});
  EXPECT_FALSE(verdict_about(*ranking, 1).score.has_value());
}

TEST(Rerank, RefusesAModelThatCannotScore) {
  testing::ScriptedLlmOptions options;
  options.answers = {{"", ""}};
  options.features = {Feature::kTokens};
  const auto model = *testing::ScriptedLlm::create(std::move(options));
  DefenceServices services;
  services.model = model.get();
  const auto made = Rerank::create({}, services);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace casemate
