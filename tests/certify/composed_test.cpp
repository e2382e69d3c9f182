// The composed claim, attacked: planted passages in a corpus, retrieval by votes, an answer by votes.
#include <gtest/gtest.h>

#include "casemate/certify/retrieval_condition.h"
#include "casemate/certify/voting.h"
#include "certify/samples.h"
#include "certify/vote_ranking.h"

namespace casemate {
namespace {

using test::Dice;
using test::Similarities;

constexpr int kUnit = 6;

struct World {
  Similarities passages;
  std::map<std::int64_t, int> votes;  ///< of each passage's group
  int combination = 1;
  int top_p = 3;
};

int answer_of(const World& world, const std::map<std::int64_t, int>& planted_votes, std::vector<std::int64_t>* top) {
  *top = test::rank_by_votes(world.passages, world.combination, world.top_p).top;
  std::vector<std::int64_t> counts(3, 0);
  for (const std::int64_t id : *top) {
    const auto planted = planted_votes.find(id);
    ++counts[static_cast<std::size_t>(planted == planted_votes.end() ? world.votes.at(id) : planted->second)];
  }
  return static_cast<int>(*voting_winner(counts));
}

TEST(ComposedCertificate, StandsEveryPlantedPassageThatItCovers) {
  Dice dice(41);
  int certified = 0;
  int displaced = 0;
  int refused_and_broken = 0;
  for (int round = 0; round < 10'000; ++round) {
    World world;
    const int fragments = dice.roll(2, 4);
    world.combination = dice.roll(1, fragments);
    world.top_p = dice.roll(3, 5);
    const int favourite = dice.roll(0, 2);
    for (int i = 0; i < world.top_p + dice.roll(0, 2); ++i) {
      auto& similarity = world.passages[2 * i + 1];
      const int lift = i < world.top_p ? 3 : 0;
      for (int f = 0; f < fragments; ++f) similarity.push_back(dice.roll(lift, lift + 3));
      world.votes[2 * i + 1] = dice.chance(85) ? favourite : dice.roll(0, 2);
    }
    std::vector<std::int64_t> top;
    const int answer = answer_of(world, {}, &top);
    VotingEvidence voting;
    voting.letters = {"A", "B", "C"};
    voting.winner = static_cast<std::size_t>(answer);
    for (const std::int64_t id : top) {
      voting.groups.push_back({UntrustedText("x"), static_cast<std::size_t>(world.votes.at(id)), kOne});
    }
    const auto live = certify_voting(voting, {world.top_p, 1, 0});
    ASSERT_TRUE(live.ok());
    RetrievalEvidence evidence;
    evidence.fragments = fragments;
    evidence.combination = world.combination;
    evidence.top_p = world.top_p;
    evidence.planted = dice.roll(1, 2);
    evidence.poisoned_fragments = dice.roll(0, 2);
    evidence.one = kUnit;
    evidence.s_max = dice.roll(-2, 3);
    evidence.results = top;
    evidence.lists = test::rank_by_votes(world.passages, world.combination, world.top_p).lists;
    ASSERT_TRUE(bound_retrieval(evidence).ok());
    const bool holds = live->k_prime >= 1 && live->k_prime >= evidence.changed_at_most;
    certified += holds ? 1 : 0;

    for (int attack = 0; attack < 20; ++attack) {
      World attacked = world;
      std::map<std::int64_t, int> planted;
      const int against = (answer + dice.roll(1, 2)) % 3;
      for (int i = 0; i < evidence.planted; ++i) {
        const std::int64_t id = dice.chance(50) ? 2 * i : 1000 + i;
        auto& similarity = attacked.passages[id];
        similarity.assign(static_cast<std::size_t>(fragments), evidence.s_max - dice.roll(0, 1));
        for (int slot = 0; slot < evidence.poisoned_fragments; ++slot) {
          similarity[static_cast<std::size_t>(dice.roll(0, fragments - 1))] = kUnit - dice.roll(0, 1);
        }
        planted[id] = against;
      }
      std::vector<std::int64_t> now;
      const bool stays = answer_of(attacked, planted, &now) == answer;
      int gone = 0;
      for (const std::int64_t id : top) gone += std::find(now.begin(), now.end(), id) == now.end() ? 1 : 0;
      ASSERT_LE(gone, evidence.changed_at_most) << "round " << round;
      displaced += gone;
      if (holds) {
        ASSERT_TRUE(stays) << "round " << round;
      }
      refused_and_broken += holds || stays ? 0 : 1;
    }
  }
  EXPECT_GT(certified, 1000);
  EXPECT_GT(displaced, 1000);
  EXPECT_GT(refused_and_broken, 100);
}

}  // namespace
}  // namespace casemate
