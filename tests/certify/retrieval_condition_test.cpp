#include "casemate/certify/retrieval_condition.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "certify/samples.h"
#include "certify/vote_ranking.h"
#include "support/paths.h"

namespace casemate {
namespace {

nlohmann::json golden() {
  std::ifstream file(test::golden_path("ragpart_condition.json"));
  return nlohmann::json::parse(file);
}

RetrievalEvidence evidence_of(const nlohmann::json& one) {
  test::Similarities passages;
  for (const auto& [id, similarity] : one["passages"].items()) {
    passages[std::stoll(id)] = similarity.get<std::vector<std::int64_t>>();
  }
  const test::VoteRanking ranking = test::rank_by_votes(passages, one["k"], one["p"]);
  RetrievalEvidence out;
  out.fragments = one["N"];
  out.combination = one["k"];
  out.top_p = one["p"];
  out.planted = one["n_a"];
  out.poisoned_fragments = one["n_p"];
  out.one = one["unit"];
  out.s_max = one["s_max"];
  out.results = ranking.top;
  out.lists = ranking.lists;
  return out;
}

TEST(RetrievalCondition, EqualsEveryGoldenCaseAndNoAttackPassesIt) {
  const auto file = golden();
  ASSERT_EQ(file["cases"].size(), 100U);
  for (const auto& one : file["cases"]) {
    RetrievalEvidence evidence = evidence_of(one);
    EXPECT_EQ(evidence.results, one["top"].get<std::vector<std::int64_t>>());
    const Status bound = bound_retrieval(evidence);
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    const auto& formula = one["formula"];
    EXPECT_EQ(evidence.planted_votes, formula["V"].get<std::int64_t>()) << one;
    EXPECT_EQ(evidence.outsider_votes, formula["v_out"].get<std::int64_t>()) << one;
    EXPECT_EQ(evidence.planted_at_most, formula["j"].get<int>()) << one;
    EXPECT_EQ(evidence.changed_at_most, formula["j_composed"].get<int>()) << one;
    const auto& brute = one["brute"];
    for (std::size_t i = 0; i < evidence.results.size(); ++i) {
      const std::string id = std::to_string(evidence.results[i]);
      EXPECT_EQ(evidence.kept_votes[i], formula["v_minus"][id].get<std::int64_t>()) << one;
      EXPECT_GE(brute["min_votes"][id].get<std::int64_t>(), evidence.kept_votes[i]) << one;
    }
    EXPECT_LE(brute["max_planted_in_top"].get<int>(), evidence.planted_at_most) << one;
    EXPECT_LE(brute["max_displaced"].get<int>(), evidence.changed_at_most) << one;
    const auto most = brute["max_planted_votes"].get<std::int64_t>();
    EXPECT_LE(most, evidence.planted_votes) << one;
    if (one["n_a"] == 1) {
      EXPECT_EQ(most, evidence.planted_votes) << one;
    }
  }
}

/// A certificate by voting over the golden case's results, which all vote alike.
Certificate composed(const RetrievalEvidence& evidence) {
  const auto passages = static_cast<std::int64_t>(evidence.results.size());
  Certificate out = test::frame(passages, 1, 0);
  VotingEvidence voting;
  voting.letters = {"A", "B"};
  voting.counts = {passages, 0};
  for (std::int64_t i = 0; i < passages; ++i) voting.groups.push_back({UntrustedText("A"), 0, kOne});
  out.evidence = voting;
  out.answer = UntrustedText("A");
  out.retrieval = evidence;
  return out;
}

TEST(RetrievalCondition, IsVerifiedForEveryGoldenCaseAndNoSmallerNumberIs) {
  int composes = 0;
  const auto file = golden();
  for (const auto& one : file["cases"]) {
    RetrievalEvidence evidence = evidence_of(one);
    ASSERT_TRUE(bound_retrieval(evidence).ok());
    const std::int64_t stands = evidence.top_p / 2;  // c(a) = p >= 2 k'
    if (stands < 1) continue;
    const bool holds = evidence.changed_at_most <= stands;
    EXPECT_EQ(test::claim_holds(composed(evidence), stands), holds) << one;
    composes += holds ? 1 : 0;
    for (int field = 0; field < 5; ++field) {
      RetrievalEvidence lying = evidence;
      if (field == 0 && lying.planted_votes-- == 0) continue;
      if (field == 1 && lying.outsider_votes-- == 0) continue;
      if (field == 2 && lying.planted_at_most-- == 0) continue;
      if (field == 3 && lying.changed_at_most-- == 0) continue;
      if (field == 4) ++lying.kept_votes[0];
      EXPECT_FALSE(test::claim_holds(composed(lying), stands)) << field << ' ' << one;
    }
  }
  EXPECT_GT(composes, 5);
}

RagPartRanking found(int top_p) {
  RagPartRanking out;
  for (int rank = 0; rank < top_p; ++rank) {
    RagPartHit hit;
    hit.chunk = 10 + rank;
    out.hits.push_back(hit);
  }
  out.lists = 3;
  out.all_lists.depth = static_cast<std::size_t>(top_p);
  for (const std::uint32_t subset : {3U, 5U, 6U}) {
    out.all_lists.subsets.push_back(subset);
    for (int rank = 0; rank < top_p; ++rank) {
      const double score = 0.9 - 0.3 * rank;
      out.all_lists.entries.push_back({10 + rank, static_cast<std::int64_t>(2 * score / kRagPartUnit), score});
    }
  }
  return out;
}

TEST(RetrievalCondition, ComesFromASearch) {
  const RagPartSearchOptions search{2, 2, RagPartAggregation::kMajority, 0, true};
  const auto evidence = retrieval_condition(found(2), 3, search, {}, {1, 1, 0.1, 1e-5});
  ASSERT_TRUE(evidence.ok()) << evidence.error().message;
  EXPECT_EQ(evidence->results, (std::vector<std::int64_t>{10, 11}));
  // One slot: (1 + 0.1) / 2 is under 0.6, the second of each list.
  EXPECT_EQ(evidence->planted_votes, 0);
  EXPECT_EQ(evidence->changed_at_most, 0);
  // Two slots: 1 in the list that has both, 0.55 in the others.
  EXPECT_EQ(retrieval_condition(found(2), 3, search, {}, {1, 2, 0.1, 1e-5})->planted_votes, 1);
  // A slot that is 0.2 + rounding makes 0.6 and more.
  EXPECT_EQ(retrieval_condition(found(2), 3, search, {}, {1, 1, 0.2, 1e-5})->planted_votes, 2);
  EXPECT_EQ(retrieval_condition(found(2), 3, search, {}, {1, 9, 0.1, 1e-5})->planted_votes, 3);
}

TEST(RetrievalCondition, RefusesWhatItSaysNothingOf) {
  const RagPartSearchOptions search{2, 2, RagPartAggregation::kMajority, 0, true};
  const PlantedPassages planted;
  const auto code = [&](const RetrievalPath& path) {
    return retrieval_condition(found(2), 3, search, path, planted).error().code;
  };
  EXPECT_EQ(code({RagPartAggregation::kIntersection}), ErrorCode::kUnsupported);
  EXPECT_EQ(code({RagPartAggregation::kMajority, true}), ErrorCode::kUnsupported);
  EXPECT_EQ(code({RagPartAggregation::kMajority, false, false}), ErrorCode::kUnsupported);
  EXPECT_EQ(code({RagPartAggregation::kMajority, false, true, false}), ErrorCode::kUnsupported);
  EXPECT_EQ(code({RagPartAggregation::kMajority, false, true, true, true}), ErrorCode::kUnsupported);
  EXPECT_FALSE(retrieval_condition({}, 3, search, {}, planted).ok());
  RagPartSearchOptions more = search;
  more.top_p = 3;
  const auto few = retrieval_condition(found(2), 3, more, {}, planted);
  ASSERT_FALSE(few.ok());
  EXPECT_NE(few.error().message.find("fewer passages"), std::string::npos);
  EXPECT_FALSE(retrieval_condition(found(2), 4, search, {}, planted).ok());  // six lists are missing
  for (const PlantedPassages& bad :
       {PlantedPassages{0}, PlantedPassages{1, -1}, PlantedPassages{1, 1, 1.5}, PlantedPassages{1, 1, 0.5, 0.5}}) {
    EXPECT_FALSE(retrieval_condition(found(2), 3, search, {}, bad).ok());
  }
}

}  // namespace
}  // namespace casemate
