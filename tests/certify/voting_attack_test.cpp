// A brute-force adversary against certificates by voting: every choice of passages, every ballot.
#include <gtest/gtest.h>

#include <optional>

#include "casemate/certify/voting.h"
#include "certify/attack.h"

namespace casemate {
namespace {

using test::Dice;
using test::Group;
using Ballots = std::vector<int>;  // -1: abstains

/// What inference gives: the letter with most ballots, ties to the first; -1 without ballots.
int winner(const Ballots& ballots, int letters) {
  int best = -1;
  int most = 0;
  for (int letter = 0; letter < letters; ++letter) {
    int count = 0;
    for (const int ballot : ballots) count += ballot == letter ? 1 : 0;
    if (count > most) {
      most = count;
      best = letter;
    }
  }
  return best;
}

/// True where some ballots of the groups in `attacked` give another winner than `expected`.
bool can_change(Ballots ballots, const std::vector<std::size_t>& attacked, std::size_t from, int letters,
                int expected) {
  if (from == attacked.size()) return winner(ballots, letters) != expected;
  for (int ballot = -1; ballot < letters; ++ballot) {
    ballots[attacked[from]] = ballot;
    if (can_change(ballots, attacked, from + 1, letters, expected)) return true;
  }
  return false;
}

TEST(VotingAttack, ChangesALiveAnswerExactlyWhereNothingIsCertified) {
  Dice dice(1);
  int certified = 0;
  int refused = 0;
  for (int round = 0; round < 10'000; ++round) {
    const int letters = dice.roll(2, 4);
    const int passages = dice.roll(1, 6);
    const int group_size = dice.roll(1, 3);
    const int groups = (passages + group_size - 1) / group_size;
    VotingEvidence evidence;
    for (int i = 0; i < letters; ++i) evidence.letters.emplace_back(1, static_cast<char>('A' + i));
    Ballots ballots;
    std::set<std::size_t> unstable;
    const int favourite = dice.roll(0, letters - 1);
    for (int g = 0; g < groups; ++g) {
      ballots.push_back(dice.chance(70) ? favourite : dice.roll(-1, letters - 1));
      VotingGroup group;
      group.answer = UntrustedText("x");
      if (ballots.back() >= 0) group.vote = static_cast<std::size_t>(ballots.back());
      if (dice.chance(5)) {
        group.margin = 0;  // two tokens are equally likely somewhere: in another batch it may answer otherwise
        unstable.insert(static_cast<std::size_t>(g));
      }
      evidence.groups.push_back(group);
    }
    const int answer = winner(ballots, letters);
    if (answer < 0) continue;
    evidence.winner = static_cast<std::size_t>(answer);
    evidence.counts.assign(static_cast<std::size_t>(letters), 0);
    for (std::size_t g = 0; g < evidence.groups.size(); ++g) {
      if (ballots[g] >= 0 && !unstable.contains(g)) ++evidence.counts[static_cast<std::size_t>(ballots[g])];
    }
    const auto found = certify_voting(evidence, {passages, group_size, 0});
    ASSERT_TRUE(found.ok());
    Certificate certificate = test::frame(passages, group_size, 0);
    certificate.answer = UntrustedText(evidence.letters[evidence.winner]);
    certificate.evidence = evidence;
    for (int k_prime = 1; k_prime <= std::min(passages, 4); ++k_prime) {
      bool changed = false;
      test::every_touch(passages, group_size, k_prime, [&](std::set<std::size_t> touched) {
        touched.insert(unstable.begin(), unstable.end());
        changed = changed || can_change(ballots, {touched.begin(), touched.end()}, 0, letters, answer);
      });
      ASSERT_EQ(changed, k_prime > found->k_prime) << "round " << round << " k' " << k_prime;
      if (round % 20 == 0) {
        ASSERT_EQ(test::claim_holds(certificate, k_prime), !changed) << "round " << round;
      }
      ++(changed ? refused : certified);
    }
  }
  EXPECT_GT(certified, 2500);
  EXPECT_GT(refused, 3000);
}

void attack_data_set(PassageThreat threat, std::uint64_t seed) {
  Dice dice(seed);
  int certified = 0;
  int refused = 0;
  for (int round = 0; round < 10'000; ++round) {
    const int letters = dice.roll(2, 3);
    const int passages = dice.roll(1, 5);
    const int group_size = dice.roll(1, 2);
    const int malicious = dice.roll(0, std::min(2, passages));
    const int right = dice.roll(0, letters - 1);
    test::Remembered<int> model([&] { return dice.chance(80) ? right : dice.roll(-1, letters - 1); });
    const auto cases = benign_cases(passages, group_size, malicious, threat);
    ASSERT_TRUE(cases.ok());
    bool holds = true;
    for (const BenignCase& one : *cases) {
      std::vector<std::int64_t> counts(static_cast<std::size_t>(letters), 0);
      for (const auto& group : one.groups) {
        const int vote = model.of(group);
        if (vote >= 0) ++counts[static_cast<std::size_t>(vote)];
      }
      holds = holds && *voting_holds(counts, static_cast<std::size_t>(right), one.corrupted_groups);
    }
    bool changed = false;
    test::every_placement(passages, group_size, malicious, threat, [&](const std::vector<Group>& groups) {
      Ballots ballots;
      std::vector<std::size_t> attacked;
      for (const Group& group : groups) {
        if (test::is_malicious(group)) attacked.push_back(ballots.size());
        ballots.push_back(test::is_malicious(group) ? -1 : model.of(group));
      }
      changed = changed || can_change(ballots, attacked, 0, letters, right);
    });
    ASSERT_EQ(holds, !changed) << "round " << round;
    ++(changed ? refused : certified);
  }
  EXPECT_GT(certified, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(VotingAttack, ByInjectionSucceedsExactlyWhereNothingIsCertified) { attack_data_set(PassageThreat::kInjection, 2); }
TEST(VotingAttack, ByModificationSucceedsExactlyWhereNothingIsCertified) {
  attack_data_set(PassageThreat::kModification, 3);
}

}  // namespace
}  // namespace casemate
