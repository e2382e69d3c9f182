// A defence that loops over its pool ends within one passage, or one piece of the pool, once it is asked to stop.
#include <gtest/gtest.h>

#include "casemate/defend/cluster.h"
#include "casemate/defend/consistency.h"
#include "casemate/defend/perplexity.h"
#include "casemate/defend/rerank.h"
#include "casemate/defend/suppression.h"
#include "casemate/encoder/heads.h"
#include "pool.h"
#include "testing/scripted_llm.h"

namespace casemate {
namespace {

std::vector<PassageCandidate> pool_of_forty() {
  std::vector<PassageCandidate> out;
  for (int i = 0; i < 40; ++i) {
    out.push_back(test::candidate(i + 1, 40 - i, {1, static_cast<float>(i)},
                                  "passage number " + std::to_string(i) + " about ferries"));
  }
  return out;
}

DefenceQuery ferry() {
  DefenceQuery query;
  query.text = UntrustedText(" ferry");
  query.embedding = {1, 0};
  return query;
}

/// Asks to stop in its first call.
class StoppingReranker final : public Reranker {
 public:
  explicit StoppingReranker(std::stop_source& stop) : stop_(stop) {}
  Result<std::vector<float>> score(std::string_view /*query*/,
                                   std::span<const std::string_view> passages) const override {
    stop_.request_stop();
    scored += passages.size();
    return std::vector<float>(passages.size(), 0.0F);
  }
  mutable std::size_t scored = 0;

 private:
  std::stop_source& stop_;
};

TEST(StoppedDefence, RerankByCrossEncoderScoresNoFurtherPiece) {
  std::stop_source stop;
  const StoppingReranker reranker(stop);
  DefenceServices services;
  services.reranker = &reranker;
  RerankOptions options;
  options.by = RerankBy::kCrossEncoder;
  options.pool_size = 40;
  const auto made = Rerank::create(options, services);
  ASSERT_TRUE(made.ok());
  const auto pool = pool_of_forty();
  EXPECT_EQ((*made)->rank(ferry(), pool, 5, stop.get_token()).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(reranker.scored, 16U);
  ASSERT_TRUE((*made)->rank(ferry(), pool, 5, {}).ok());
  EXPECT_EQ(reranker.scored, 56U);
}

/// A language model whose n-th prediction asks to stop.
class ByModel : public ::testing::Test {
 protected:
  ByModel() {
    testing::ScriptedLlmOptions options;
    options.vocabulary = {" ferry"};
    options.distribution = [this](std::span<const TokenId>, std::string_view) {
      if (++predictions_ == 1) stop_.request_stop();
      return std::vector<double>(3 + 1 + 256, 1.0);
    };
    model_ = *testing::ScriptedLlm::create(std::move(options));
    services_.model = model_.get();
  }
  void expect_stopped(const RetrievalDefence& defence, std::size_t most_calls) {
    const auto pool = pool_of_forty();
    EXPECT_EQ(defence.rank(ferry(), pool, 5, stop_.get_token()).error().code, ErrorCode::kCancelled);
    EXPECT_LE(model_->usage().calls, most_calls) << defence.name();
    EXPECT_GT(predictions_, 0);
  }
  int predictions_ = 0;
  std::stop_source stop_;
  std::unique_ptr<testing::ScriptedLlm> model_;
  DefenceServices services_;
};

TEST_F(ByModel, RerankByLikelihoodReadsNoFurtherPassage) {
  RerankOptions options;
  options.by = RerankBy::kLikelihood;
  expect_stopped(**Rerank::create(options, services_), 1);
}
TEST_F(ByModel, PerplexityReadsNoFurtherPassage) {
  PerplexityOptions options;
  options.max_perplexity = 1e9;
  expect_stopped(**Perplexity::create(options, services_), 1);
}
TEST_F(ByModel, ConsistencyEndsInsideItsBatch) { expect_stopped(**Consistency::create({}, services_), 1); }

TEST(StoppedDefence, WithoutAModelIsSeenAtOnce) {
  std::stop_source stop;
  stop.request_stop();
  const auto pool = pool_of_forty();
  const auto cluster = Cluster::create({});
  EXPECT_EQ((*cluster)->rank(ferry(), pool, 5, stop.get_token()).error().code, ErrorCode::kCancelled);
  EXPECT_TRUE((*cluster)->rank(ferry(), pool, 5, {}).ok());
  const auto suppression = Suppression::create({});
  EXPECT_EQ((*suppression)->rank(ferry(), pool, 5, stop.get_token()).error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace casemate
