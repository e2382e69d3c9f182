#include "casemate/certify/voting.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "certify/samples.h"
#include "support/paths.h"

namespace casemate {
namespace {

nlohmann::json golden() {
  std::ifstream file(test::golden_path("cert_voting.json"));
  return nlohmann::json::parse(file);
}

TEST(VotingCertificate, OfADataSetEqualsEveryGoldenCase) {
  const auto file = golden();
  ASSERT_EQ(file["cases"].size(), 200U);
  for (const auto& one : file["cases"]) {
    const auto letters = one["letters"].get<std::string>();
    std::vector<std::int64_t> counts;
    for (const char letter : letters) counts.push_back(one["benign_counts"][std::string(1, letter)]);
    for (std::size_t right = 0; right < letters.size(); ++right) {
      const auto holds = voting_holds(counts, right, one["m_prime"]);
      ASSERT_TRUE(holds.ok());
      EXPECT_EQ(*holds, one["certified"] == std::string(1, letters[right])) << one;
    }
  }
}

/// The evidence of a live golden case, where something was voted for.
std::optional<VotingEvidence> evidence_of(const nlohmann::json& one) {
  if (one["answer"].is_null()) return std::nullopt;
  VotingEvidence out;
  const auto letters = one["letters"].get<std::string>();
  for (const char letter : letters) out.letters.emplace_back(1, letter);
  for (const auto& vote : one["votes"]) {
    VotingGroup group;
    group.answer = UntrustedText("none");
    if (!vote.is_null()) group.vote = letters.find(vote.get<std::string>());
    out.groups.push_back(group);
  }
  out.winner = letters.find(one["answer"].get<std::string>());
  out.counts.assign(letters.size(), 0);
  for (const VotingGroup& group : out.groups) {
    if (group.vote) ++out.counts[*group.vote];
  }
  return out;
}

TEST(VotingCertificate, OfALiveAnswerEqualsEveryGoldenCase) {
  const auto file = golden();
  ASSERT_EQ(file["live_cases"].size(), 200U);
  for (const auto& one : file["live_cases"]) {
    const auto evidence = evidence_of(one);
    if (!evidence) {
      EXPECT_EQ(one["largest_k_prime"], 0);
      continue;
    }
    const auto found = certify_voting(*evidence, {one["k"], one["omega"], 0});
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->k_prime, one["largest_k_prime"].get<std::int64_t>()) << one;
    EXPECT_EQ(found->limited_by.empty(), found->k_prime == one["k"].get<std::int64_t>());
  }
}

TEST(VotingCertificate, IsVerifiedForEveryGoldenCaseUpToItsLargestAndNoFurther) {
  const auto file = golden();
  for (const auto& one : file["live_cases"]) {
    const auto evidence = evidence_of(one);
    if (!evidence) continue;
    Certificate certificate = test::frame(one["k"], one["omega"], 0);
    certificate.answer = UntrustedText(evidence->letters[evidence->winner]);
    certificate.evidence = *evidence;
    const std::int64_t largest = one["largest_k_prime"];
    for (std::int64_t k_prime = 1; k_prime <= one["k"]; ++k_prime) {
      ASSERT_EQ(test::claim_holds(certificate, k_prime), k_prime <= largest) << k_prime << ' ' << one;
    }
  }
}

TEST(VotingCertificate, HasNoPlaceForNonsense) {
  EXPECT_FALSE(voting_holds(std::vector<std::int64_t>{3}, 0, 1).ok());
  EXPECT_FALSE(voting_holds(std::vector<std::int64_t>{3, 0}, 2, 1).ok());
  EXPECT_FALSE(voting_holds(std::vector<std::int64_t>{3, -1}, 0, 1).ok());
  EXPECT_FALSE(voting_holds(std::vector<std::int64_t>{3, 0}, 0, -1).ok());
  EXPECT_FALSE(*voting_holds(std::vector<std::int64_t>{0, 0}, 0, 0));  // nobody voted
  VotingEvidence evidence;
  evidence.letters = {"A", "B"};
  EXPECT_FALSE(certify_voting(evidence, {0, 1, 0}).ok());
  EXPECT_FALSE(certify_voting(evidence, {2, 1, 0}).ok());  // no groups
  evidence.groups.resize(2);
  EXPECT_EQ(certify_voting(evidence, {2, 1, 0})->k_prime, 0);  // all abstain
  EXPECT_EQ(certify_voting(evidence, {4, 2, 0})->k_prime, 0);
  evidence.groups[0].vote = 2;
  EXPECT_FALSE(certify_voting(evidence, {2, 1, 0}).ok());
  evidence.groups[0].vote = 0;
  evidence.groups[0].margin = -1;
  EXPECT_FALSE(certify_voting(evidence, {2, 1, 0}).ok());
}

}  // namespace
}  // namespace casemate
