#include <algorithm>

#include "pipeline_fixture.h"

namespace casemate {
namespace {

class DefendedSearch : public PipelineFixture {
 protected:
  Result<SearchResult> search(const Policy& policy, const std::string& query, QueryOptions options = {}) {
    auto made = Pipeline::create(parts(), policy);
    if (!made) return made.error();
    return (*made)->search(UntrustedText(query), options);
  }
  static Policy with(std::vector<DefenceChoice> defences, int top_k = 2) {
    Policy policy = *find_policy("off");
    policy.name = "test-2026-11";
    policy.top_k = top_k;
    policy.defences = std::move(defences);
    return policy;
  }
  /// Three texts of which two are equal.
  void index_copies() {
    write("a.txt", "the ferry leaves at noon from the old pier");
    write("b.txt", "the ferry leaves at noon from the old pier");
    write("c.txt", "a bridge of stone");
    for (const char* name : {"a.txt", "b.txt", "c.txt"}) ASSERT_TRUE(index(name).ok());
  }
};

TEST_F(DefendedSearch, ADefenceAsksForALargerPoolAndCutsItToTopK) {
  index_copies();
  const auto result = search(with({{"suppression", "{}"}}), "when does the ferry leave");
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result->hits.size(), 2U);
  EXPECT_EQ(result->hits[0].document, "a.txt");
  EXPECT_EQ(result->hits[1].document, "c.txt");
  EXPECT_EQ(result->hits[1].rank, 2);
  ASSERT_EQ(result->evidence.stages.size(), 2U);
  EXPECT_EQ(result->evidence.stages[0].passages_out, 3U);
  const StageEvidence& stage = result->evidence.stages[1];
  EXPECT_EQ(stage.stage, "suppression");
  EXPECT_EQ(stage.passages_in, 3U);
  EXPECT_EQ(stage.passages_out, 2U);
  const auto dropped = std::find_if(stage.verdicts.begin(), stage.verdicts.end(),
                                    [](const Verdict& v) { return v.decision == Decision::kDropped; });
  ASSERT_NE(dropped, stage.verdicts.end());
  EXPECT_EQ(dropped->document, "b.txt");
  EXPECT_EQ(dropped->copy_of, result->hits[0].id);
}

TEST_F(DefendedSearch, EveryCandidateHasAVerdictInEveryStage) {
  index_copies();
  const auto result = search(with({{"cluster", "{}"}, {"suppression", "{}"}}, 1), "ferry");
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->evidence.stages.size(), 3U);
  for (const StageEvidence& stage : result->evidence.stages)
    EXPECT_GE(stage.verdicts.size(), stage.passages_in == 3 ? 3U : 1U) << stage.stage;
}

TEST_F(DefendedSearch, ExplainTellsWherePassagesStandWithoutDefences) {
  index_copies();
  QueryOptions options;
  options.explain = true;
  const auto result = search(with({{"suppression", "{}"}}), "when does the ferry leave", options);
  ASSERT_TRUE(result.ok());
  const StageEvidence& stage = result->evidence.stages.back();
  ASSERT_EQ(stage.stage, "undefended");
  ASSERT_EQ(stage.verdicts.size(), 3U);  // both of the undefended top 2, and the third, which moved up
  EXPECT_EQ(stage.verdicts[0].decision, Decision::kKept);
  EXPECT_EQ(stage.verdicts[1].decision, Decision::kDropped);
  EXPECT_EQ(stage.verdicts[2].decision, Decision::kMoved);
  EXPECT_EQ(result->hits[1].candidate.dense_rank, 3);
}

TEST_F(DefendedSearch, ADefenceThatNeedsEmbeddingsRefusesASearchByWordsAlone) {
  index_copies();
  QueryOptions options;
  options.mode = RetrievalMode::kBm25;
  const auto result = search(with({{"suppression", "{}"}}), "ferry", options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(result.error().message.find("suppression"), std::string::npos);
}

TEST_F(DefendedSearch, BadDefencesAreRefusedWhenThePipelineIsMade) {
  EXPECT_FALSE(Pipeline::create(parts(), with({{"nonsense", "{}"}})).ok());
  EXPECT_FALSE(Pipeline::create(parts(), with({{"suppression", "{max_cosine: 7}"}})).ok());
  EXPECT_FALSE(Pipeline::create(parts(), with({{"consistency", "{}"}})).ok());  // no model here
  PipelineParts none;
  EXPECT_FALSE(Pipeline::create(none, with({})).ok());
}

/// A model whose script is broken: it fails whenever it is asked.
std::unique_ptr<testing::ScriptedLlm> broken_model() {
  testing::ScriptedLlmOptions options;
  options.vocabulary = {"ferry"};
  options.distribution = [](std::span<const TokenId>, std::string_view) { return std::vector<double>{1.0}; };
  return testing::ScriptedLlm::create(std::move(options)).value();
}

TEST_F(DefendedSearch, ADefenceThatFailsEndsTheQueryUnlessThePolicyLetsItFail) {
  index_copies();
  const auto model = broken_model();
  Policy policy = with({{"suppression", "{}"}, {"consistency", "{}"}});
  PipelineParts parts = this->parts(model.get());
  auto closed = Pipeline::create(parts, policy);
  ASSERT_TRUE(closed.ok()) << closed.error().message;
  EXPECT_EQ((*closed)->search(UntrustedText("ferry"), {}).error().code, ErrorCode::kModel);
  policy.may_fail = {"consistency"};
  auto open = Pipeline::create(parts, policy);
  ASSERT_TRUE(open.ok());
  const auto result = (*open)->search(UntrustedText("when does the ferry leave"), {});
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result->evidence.degraded.size(), 1U);
  EXPECT_EQ(result->evidence.degraded[0].stage, "consistency");
  EXPECT_NE(to_json(result->evidence).find("\"degraded\""), std::string::npos);
  // What suppression gave, at its size.
  ASSERT_EQ(result->hits.size(), 2U);
  EXPECT_EQ(result->hits[0].document, "a.txt");
  EXPECT_EQ(result->hits[1].document, "c.txt");
  EXPECT_EQ(result->evidence.times.size(), 3U);
}

TEST_F(DefendedSearch, ADefenceWithoutItsModelIsMissingOnlyWhereThePolicyLetsItFail) {
  index_copies();
  Policy policy = with({{"consistency", "{}"}});
  EXPECT_FALSE(search(policy, "ferry").ok());
  policy.may_fail = {"consistency"};
  const auto result = search(policy, "ferry");
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->hits.size(), 2U);
  ASSERT_EQ(result->evidence.degraded.size(), 1U);
  EXPECT_NE(result->evidence.degraded[0].reason.find("needs a language model"), std::string::npos);
  // Wrong options are no failure.
  policy.defences = {{"consistency", "{max_new_tokens: -1}"}};
  EXPECT_FALSE(search(policy, "ferry").ok());
}

TEST_F(DefendedSearch, WhatARequestAsksForDoesNotGetRoundADefenceThatMayFail) {
  index_copies();
  Policy policy = with({{"suppression", "{}"}});
  policy.may_fail = {"suppression"};
  QueryOptions words;
  words.mode = RetrievalMode::kBm25;
  EXPECT_FALSE(search(policy, "ferry", words).ok());
  policy = with({{"ragpart", "{}"}});
  policy.may_fail = {"ragpart"};
  EXPECT_EQ(search(policy, "ferry").error().code, ErrorCode::kInvalidOption);
}

}  // namespace
}  // namespace casemate
