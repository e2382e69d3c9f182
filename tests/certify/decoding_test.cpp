#include "casemate/certify/decoding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "certify/samples.h"
#include "support/paths.h"

namespace casemate {
namespace {

using Tokens = std::vector<std::int32_t>;

constexpr Billionths kEighth = kOne / 8;

nlohmann::json golden() {
  std::ifstream file(test::golden_path("cert_decoding.json"));
  return nlohmann::json::parse(file);
}

/// A vector in eighths. Tokens without mass are not listed unless `zeros`.
SparseProbabilities sparse(const nlohmann::json& vector, bool zeros = false) {
  SparseProbabilities out;
  for (std::size_t token = 0; token < vector.size(); ++token) {
    const Billionths value = vector[token].get<int>() * kEighth;
    if (value > 0 || zeros) out.listed.push_back({static_cast<std::int32_t>(token), value});
  }
  return out;
}

std::vector<SparseProbabilities> all_sparse(const nlohmann::json& vectors) {
  std::vector<SparseProbabilities> out;
  for (const auto& vector : vectors) out.push_back(sparse(vector));
  return out;
}

DecodingRule rule_of(const nlohmann::json& one) { return {one["eta"].get<int>() * kEighth, 0, one["vocabulary"]}; }

TEST(DecodingCertificate, ReachesExactlyTheGoldenTokensInOneStep) {
  const auto file = golden();
  ASSERT_EQ(file["cases"].size(), 200U);
  for (const auto& one : file["cases"]) {
    const auto reach = decoding_reach(all_sparse(one["vectors"]), one["m_prime"], rule_of(one));
    ASSERT_TRUE(reach.ok());
    EXPECT_EQ(reach->any_token, one["zero_mass_token_reachable"].get<bool>()) << one;
    EXPECT_EQ(reach->no_retrieval, one["no_retrieval_reachable"].get<bool>()) << one;
    std::set<std::int32_t> tokens(reach->tokens.begin(), reach->tokens.end());
    if (reach->any_token) {
      std::set<std::int32_t> massless;
      for (int token = 0; token < one["vocabulary"]; ++token) massless.insert(token);
      for (const auto& vector : all_sparse(one["vectors"])) {
        for (const TokenProbability& entry : vector.listed) massless.erase(entry.token);
      }
      tokens.insert(massless.begin(), massless.end());
    }
    EXPECT_EQ(tokens, one["top1_reachable"].get<std::set<std::int32_t>>()) << one;
  }
}

std::string key_of_prefix(std::span<const std::int32_t> prefix) {
  std::string out;
  for (const std::int32_t token : prefix) out += (out.empty() ? "" : " ") + std::to_string(token);
  return out;
}

TEST(DecodingCertificate, ReachesExactlyTheGoldenOutputs) {
  const auto file = golden();
  ASSERT_EQ(file["tree_cases"].size(), 100U);
  int certified = 0;
  for (const auto& one : file["tree_cases"]) {
    std::set<Tokens> outputs;
    DecodingModel model;
    model.groups = [&](std::span<const std::int32_t> prefix) -> Result<std::vector<SparseProbabilities>> {
      return all_sparse(one["table"][key_of_prefix(prefix)]["vectors"]);
    };
    model.no_retrieval = [&](std::span<const std::int32_t> prefix) -> Result<Tokens> {
      return Tokens{one["table"][key_of_prefix(prefix)]["no_retrieval_token"].get<std::int32_t>()};
    };
    model.is_end = [&](std::int32_t token) { return one["end_token"] == token; };
    model.score = [&](std::span<const std::int32_t> output) -> Result<double> {
      EXPECT_TRUE(outputs.insert(Tokens(output.begin(), output.end())).second) << "scored twice";
      return static_cast<double>(output.front()) + 1;
    };
    const auto outcome = certify_decoding_case(model, {rule_of(one), one["m_prime"], one["steps"], 1000});
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome->certified, !one["zero_mass_token_reachable"].get<bool>()) << one;
    if (!outcome->certified) {
      EXPECT_EQ(outcome->tau, 0);
      continue;
    }
    ++certified;
    const auto expected = one["reachable_outputs"].get<std::set<Tokens>>();
    EXPECT_EQ(outputs, expected) << one;
    EXPECT_EQ(outcome->tau, expected.begin()->front() + 1.0);
    // One prefix fewer than it needs is too few.
    outputs.clear();
    const auto short_of = certify_decoding_case(
        model, {rule_of(one), one["m_prime"], one["steps"], std::max<std::int64_t>(1, outcome->model_calls - 1)});
    if (outcome->model_calls > 1) {
      EXPECT_FALSE(short_of->certified);
    }
  }
  EXPECT_GT(certified, 30);
}

DecodingEvidence evidence_of(const nlohmann::json& one) {
  DecodingEvidence out;
  out.eta = one["eta"].get<int>() * kEighth;
  out.max_new_tokens = 1;
  DecodingStep step;
  step.token = one["emitted"];
  step.no_retrieval = {one["no_retrieval_token"].get<std::int32_t>()};
  for (const auto& vector : one["groups"]) {
    out.groups.push_back({vector.is_null() ? kOne : 0});
    step.groups.emplace_back();
    if (!vector.is_null()) step.groups.back() = sparse(vector, true);
  }
  out.steps = {step};
  return out;
}

TEST(DecodingCertificate, OfALiveAnswerEqualsEveryGoldenCase) {
  const auto file = golden();
  ASSERT_EQ(file["live_cases"].size(), 80U);
  for (const auto& one : file["live_cases"]) {
    const auto found = certify_decoding(evidence_of(one), one["vocabulary"], {one["k"], one["omega"], 0});
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(found->k_prime, one["largest_k_prime"].get<std::int64_t>()) << one;
  }
}

TEST(DecodingCertificate, IsVerifiedForEveryGoldenCaseUpToItsLargestAndNoFurther) {
  const auto file = golden();
  for (const auto& one : file["live_cases"]) {
    Certificate certificate = test::frame(one["k"], one["omega"], 0, one["vocabulary"]);
    certificate.answer = UntrustedText("x");
    certificate.evidence = evidence_of(one);
    const std::int64_t largest = one["largest_k_prime"];
    for (std::int64_t k_prime = 1; k_prime <= one["k"]; ++k_prime) {
      ASSERT_EQ(test::claim_holds(certificate, k_prime), k_prime <= largest) << k_prime << ' ' << one;
    }
  }
}

/// The paper's four cases: what can come out at a step, or nothing where it gives up.
std::optional<StepReach> four_cases(const std::vector<Billionths>& sums, Billionths eta, Billionths attack) {
  std::size_t best = 0;
  for (std::size_t token = 1; token < sums.size(); ++token) best = sums[token] > sums[best] ? token : best;
  Billionths second = 0;
  for (std::size_t token = 0; token < sums.size(); ++token) {
    if (token != best) second = std::max(second, sums[token]);
  }
  const Billionths gap = sums[best] - second;
  const auto top = static_cast<std::int32_t>(best);
  if (gap > eta + attack) return StepReach{{top}, false, false};
  if (gap <= eta - attack && gap > 0) return StepReach{{}, true, false};
  if (gap > std::abs(eta - attack)) return StepReach{{top}, true, false};
  return std::nullopt;
}

TEST(DecodingCertificate, NeverReachesMoreThanThePapersFourCases) {
  test::Dice dice(21);
  int decided = 0;
  int finer = 0;
  for (int round = 0; round < 20'000; ++round) {
    const int vocabulary = dice.roll(2, 4);
    const int groups = dice.roll(0, 4);
    const int corrupted = dice.roll(0, 2);
    const Billionths eta = dice.roll(0, 16) * kEighth;
    std::vector<SparseProbabilities> vectors;
    std::vector<Billionths> sums(static_cast<std::size_t>(vocabulary), 0);
    for (int g = 0; g < groups; ++g) {
      SparseProbabilities vector;
      int left = 8;
      for (int token = 0; token < vocabulary; ++token) {
        const int mass = token + 1 == vocabulary ? left : dice.roll(0, left);
        left -= mass;
        if (mass > 0) vector.listed.push_back({token, mass * kEighth});
        sums[static_cast<std::size_t>(token)] += mass * kEighth;
      }
      vectors.push_back(vector);
    }
    const auto reach = decoding_reach(vectors, corrupted, {eta, 0, vocabulary});
    ASSERT_TRUE(reach.ok());
    const auto coarse = four_cases(sums, eta, corrupted * kOne);
    if (!coarse) {
      finer += reach->any_token ? 0 : 1;
      continue;
    }
    ++decided;
    EXPECT_FALSE(reach->any_token) << round;
    EXPECT_LE(reach->no_retrieval, coarse->no_retrieval) << round;
    for (const std::int32_t token : reach->tokens) {
      EXPECT_TRUE(!coarse->tokens.empty() && coarse->tokens[0] == token) << round;
    }
  }
  EXPECT_GT(decided, 5000);
  EXPECT_GT(finer, 1000);  // cases in which the paper gives up and this does not
}

TEST(DecodingCertificate, OfGroupsThatAllAbstainIsTheAnswerWithoutRetrievalOnlyUnderEta) {
  DecodingEvidence evidence;
  evidence.eta = 2 * kOne;
  evidence.max_new_tokens = 1;
  evidence.groups.assign(3, {kOne});
  DecodingStep step;
  step.token = 5;
  step.no_retrieval = {5};
  step.groups.assign(3, std::nullopt);
  evidence.steps = {step};
  EXPECT_EQ(certify_decoding(evidence, 10, {3, 1, 1'000'000})->k_prime, 2);
  evidence.eta = 3 * kOne;
  EXPECT_EQ(certify_decoding(evidence, 10, {3, 1, 1'000'000})->k_prime, 3);
  evidence.eta = 0;
  EXPECT_EQ(certify_decoding(evidence, 10, {3, 1, 1'000'000})->k_prime, 0);
  evidence.eta = 3 * kOne;
  evidence.steps[0].no_retrieval = {5, 6};  // which one it is, is not sure
  EXPECT_EQ(certify_decoding(evidence, 10, {3, 1, 1'000'000})->k_prime, 0);
  evidence.steps[0].no_retrieval = {};
  EXPECT_EQ(certify_decoding(evidence, 10, {3, 1, 1'000'000})->k_prime, 0);
}

TEST(DecodingCertificate, CountsAGroupNearGammaAsTheAttackers) {
  DecodingEvidence evidence;
  evidence.max_new_tokens = 1;
  DecodingStep step;
  step.token = 1;
  for (int g = 0; g < 5; ++g) {
    evidence.groups.push_back({0});
    step.groups.push_back(SparseProbabilities{{{1, kOne}}, 0});
  }
  evidence.steps = {step};
  EXPECT_EQ(certify_decoding(evidence, 10, {5, 1, 1'000'000})->k_prime, 2);  // 3 groups against 2
  evidence.groups[0].refusal = 989'000'000;                                  // gamma is 0.99
  EXPECT_FALSE(certify_decoding(evidence, 10, {5, 1, 1'000'000}).ok());      // its probabilities do not count
  evidence.steps[0].groups[0].reset();
  EXPECT_EQ(certify_decoding(evidence, 10, {5, 1, 1'000'000})->k_prime, 1);  // 3 groups against 1 and this one
  evidence.groups[0].refusal = 991'000'000;
  EXPECT_EQ(certify_decoding(evidence, 10, {5, 1, 1'000'000})->k_prime, 1);
  evidence.groups[0].refusal = 991'000'001;  // it abstains for certain: 3 against 1 or, if it is taken, 4 against 1
  EXPECT_EQ(certify_decoding(evidence, 10, {5, 1, 1'000'000})->k_prime, 1);
}

TEST(Probabilities, AreCheckedAndRounded) {
  EXPECT_EQ(*to_billionths(0.125), kEighth);
  EXPECT_EQ(*to_billionths(1.0000001), kOne);
  for (const double bad : {-0.1, 1.1, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    EXPECT_FALSE(to_billionths(bad).ok()) << bad;
  }
  using Listed = std::vector<std::pair<std::int32_t, double>>;
  const auto found = sparse_probabilities(Listed{{7, 0.5}, {3, 0.25}}, 0.125);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, (SparseProbabilities{{{3, 250'000'000}, {7, 500'000'000}}, kEighth}));
  EXPECT_FALSE(sparse_probabilities(Listed{{7, 0.5}, {7, 0.25}}, 0).ok());
  EXPECT_FALSE(sparse_probabilities(Listed{{-1, 0.5}}, 0).ok());
  EXPECT_FALSE(sparse_probabilities(Listed{{1, 0.5}}, NAN).ok());
  const Listed alone{{7, 0.5}, {3, 0.4985}, {9, 0.001}};
  EXPECT_EQ(**no_retrieval_candidates(alone, 0, 1'000'000), (Tokens{3, 7}));
  EXPECT_EQ(**no_retrieval_candidates(alone, 0, 100'000), Tokens{7});
  EXPECT_FALSE(no_retrieval_candidates(alone, 0.499, 1'000'000)->has_value());
  EXPECT_FALSE(no_retrieval_candidates({}, 0, 1'000'000)->has_value());
}

TEST(DecodingCertificate, HasNoPlaceForNonsense) {
  const std::vector<SparseProbabilities> fine = {{{{1, kOne}}, 0}};
  EXPECT_FALSE(decoding_reach(fine, -1, {0, 0, 5}).ok());
  EXPECT_FALSE(decoding_reach(fine, 0, {-1, 0, 5}).ok());
  EXPECT_FALSE(decoding_reach(fine, 0, {0, -1, 5}).ok());
  EXPECT_FALSE(decoding_reach(fine, 0, {0, 0, 1}).ok());
  for (const SparseProbabilities& bad : std::vector<SparseProbabilities>{{{{1, -1}}, 0},
                                                                         {{{1, kOne + 1}}, 0},
                                                                         {{{1, 0}, {1, 0}}, 0},
                                                                         {{{2, 0}, {1, 0}}, 0},
                                                                         {{{5, 0}}, 0},
                                                                         {{{-1, 0}}, 0},
                                                                         {{}, -1},
                                                                         {{}, kOne + 1}}) {
    EXPECT_FALSE(decoding_reach(std::vector{bad}, 0, {0, 0, 5}).ok());
  }
  DecodingEvidence evidence;
  EXPECT_FALSE(certify_decoding(evidence, 5, {0, 1, 0}).ok());
  EXPECT_FALSE(certify_decoding(evidence, 5, {1, 1, 0}).ok());
  evidence.groups.resize(1);
  EXPECT_EQ(certify_decoding(evidence, 5, {1, 1, 0})->k_prime, 0);  // nothing emitted
  evidence.steps.resize(1);
  EXPECT_FALSE(certify_decoding(evidence, 5, {1, 1, 0}).ok());  // no entry for the group
}

}  // namespace
}  // namespace casemate
