#include "casemate/defend/consistency.h"

#include <gtest/gtest.h>

#include "pool.h"
#include "testing/scripted_llm.h"

namespace casemate {
namespace {

using test::candidate;
using test::kept_ids;
using test::verdict_about;

/// Reads "the sun is X" as the answer X.
std::unique_ptr<testing::ScriptedLlm> reader() {
  testing::ScriptedLlmOptions options;
  options.vocabulary = {" Paris", " Berlin", " I", " don't", " know"};
  options.answers = {{"holds Paris", " Paris"}, {"holds Berlin", " Berlin"}, {"", " I don't know"}};
  return *testing::ScriptedLlm::create(std::move(options));
}

Result<DefendedRanking> rank(LanguageModel& model, const std::vector<PassageCandidate>& pool, int top_k) {
  DefenceServices services;
  services.model = &model;
  auto made = Consistency::create({}, services);
  EXPECT_TRUE(made.ok());
  DefenceQuery query;
  query.text = UntrustedText("which city?");
  return (*made)->rank(query, pool, top_k, {});
}

TEST(Consistency, DropsWhatAnswersAgainstTheMajority) {
  const auto model = reader();
  const std::vector<PassageCandidate> pool = {candidate(1, 4, {}, "holds Berlin"), candidate(2, 3, {}, "holds Paris"),
                                              candidate(3, 2, {}, "nothing here"), candidate(4, 1, {}, "holds Paris")};
  const auto ranking = rank(*model, pool, 3);
  ASSERT_TRUE(ranking.ok()) << ranking.error().message;
  EXPECT_EQ(kept_ids(*ranking, pool), (std::vector<ChunkId>{2, 3, 4}));
  EXPECT_EQ(verdict_about(*ranking, 1).decision, Decision::kDropped);
  EXPECT_NE(verdict_about(*ranking, 1).reason.find("berlin"), std::string::npos);
}

TEST(Consistency, DropsNothingWhenNoTwoPassagesAgree) {
  const auto model = reader();
  const std::vector<PassageCandidate> pool = {candidate(1, 3, {}, "holds Berlin"), candidate(2, 2, {}, "holds Paris"),
                                              candidate(3, 1, {}, "nothing")};
  const auto ranking = rank(*model, pool, 3);
  ASSERT_TRUE(ranking.ok());
  EXPECT_EQ(kept_ids(*ranking, pool), (std::vector<ChunkId>{1, 2, 3}));
  EXPECT_FALSE(ranking->notes.empty());
}

TEST(Consistency, APassageCannotSeeAnother) {
  const auto model = reader();
  const std::vector<PassageCandidate> pool = {candidate(1, 2, {}, "holds Paris"), candidate(2, 1, {}, "holds Berlin")};
  ASSERT_TRUE(rank(*model, pool, 2).ok());
  for (const std::string& prompt : model->prompts_seen())
    EXPECT_FALSE(prompt.find("holds Paris") != std::string::npos && prompt.find("holds Berlin") != std::string::npos);
}

TEST(Consistency, NoCandidatesGiveAnEmptyRankingAndNoCall) {
  const auto model = reader();
  EXPECT_TRUE(rank(*model, {}, 3)->passages.empty());
  EXPECT_EQ(model->usage().calls, 0U);
}

TEST(Consistency, APassageLargerThanTheModelIsDroppedAndTheRestIsStillRead) {
  testing::ScriptedLlmOptions options;
  options.vocabulary = {" Paris"};
  options.answers = {{"", " Paris"}};
  options.context_tokens = 600;
  const auto model = *testing::ScriptedLlm::create(std::move(options));
  const std::vector<PassageCandidate> pool = {candidate(1, 3, {}, std::string(5000, 'x')),
                                              candidate(2, 2, {}, "holds Paris"), candidate(3, 1, {}, "Paris")};
  const auto ranking = rank(*model, pool, 3);
  ASSERT_TRUE(ranking.ok()) << ranking.error().message;
  EXPECT_EQ(kept_ids(*ranking, pool), (std::vector<ChunkId>{2, 3}));
  EXPECT_NE(verdict_about(*ranking, 1).reason.find("does not fit"), std::string::npos);
}

TEST(Consistency, RefusesOptionsOutsideTheirRangesAndAMissingModel) {
  const auto model = reader();
  DefenceServices services;
  services.model = model.get();
  EXPECT_FALSE(Consistency::create({0, 0.5, 2, 20}, services).ok());
  EXPECT_FALSE(Consistency::create({10, 0.0, 2, 20}, services).ok());
  EXPECT_FALSE(Consistency::create({10, 0.5, 1, 20}, services).ok());
  EXPECT_FALSE(Consistency::create({}, {}).ok());
}

}  // namespace
}  // namespace casemate
