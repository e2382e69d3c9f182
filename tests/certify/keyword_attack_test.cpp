// A brute-force adversary against certificates by keywords: every placement, and every answer of the corrupted groups,
// which is an abstention or any part of all benign words and one that no benign group says.
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "casemate/certify/keyword.h"
#include "certify/attack.h"

namespace casemate {
namespace {

using test::Dice;
using test::Group;
using Words = std::vector<std::string>;

constexpr int kAbstains = -1;
const Words kVocabulary = {"ash", "elm"};
constexpr int kNewWord = 4;  // the bit of the attacker's own word

/// An answer as a set of words: bits, or kAbstains.
using Answers = std::vector<int>;

/// alpha in hundredths, beta in tenths: counted in integers here, decimals there.
struct Threshold {
  int alpha = 30;
  int beta = 30;
  [[nodiscard]] bool passes(int count, int answering) const {
    return count * 100 >= alpha * answering || count * 10 >= beta;
  }
  [[nodiscard]] KeywordThreshold rule() const {
    return *KeywordThreshold::create(*Decimal::from(alpha / 100.0), *Decimal::from(beta / 10.0));
  }
};

/// The words that inference keeps, as bits; kAbstains where no group answers.
int kept(const Answers& answers, const Threshold& threshold) {
  int answering = 0;
  for (const int answer : answers) answering += answer != kAbstains ? 1 : 0;
  if (answering == 0) return kAbstains;
  int out = 0;
  for (int bit = 1; bit <= kNewWord; bit *= 2) {
    int count = 0;
    for (const int answer : answers) count += answer != kAbstains && (answer & bit) != 0 ? 1 : 0;
    // min(alpha n', beta) is below a count exactly where one of the two is; nothing is kept without any count.
    if (count > 0 && threshold.passes(count, answering)) out |= bit;
  }
  return out;
}

/// Every kept set that the groups in `attacked` can bring about.
void reach(Answers& answers, const std::vector<std::size_t>& attacked, std::size_t from, const Threshold& threshold,
           std::set<int>& out) {
  if (from == attacked.size()) {
    out.insert(kept(answers, threshold));
    return;
  }
  for (int answer = kAbstains; answer < 2 * kNewWord; ++answer) {
    answers[attacked[from]] = answer;
    reach(answers, attacked, from + 1, threshold, out);
  }
}

Words words_of(int bits) {
  Words out;
  for (std::size_t i = 0; i < kVocabulary.size(); ++i) {
    if (((bits >> i) & 1) != 0) out.push_back(kVocabulary[i]);
  }
  return out;
}

int bits_of(std::span<const std::string> words) {
  int out = 0;
  for (const std::string& word : words) out |= word == "ash" ? 1 : 2;
  return out;
}

Threshold roll_threshold(Dice& dice) {
  const std::vector<int> alphas = {7, 20, 28, 30, 34, 40, 50, 60, 67, 100};
  const std::vector<int> betas = {10, 15, 20, 25, 30, 100};
  return {alphas[static_cast<std::size_t>(dice.roll(0, 9))], betas[static_cast<std::size_t>(dice.roll(0, 5))]};
}

int roll_answer(Dice& dice) { return dice.chance(70) ? 3 : dice.roll(kAbstains, 3); }

TEST(KeywordAttack, ChangesALiveAnswerExactlyWhereNothingIsCertified) {
  Dice dice(11);
  int certified = 0;
  int refused = 0;
  int several_sets = 0;
  for (int round = 0; round < 10'000; ++round) {
    const int passages = dice.roll(1, 6);
    const int group_size = dice.roll(1, 2);
    const int groups = (passages + group_size - 1) / group_size;
    const Threshold threshold = roll_threshold(dice);
    Answers answers;
    std::set<std::size_t> unstable;
    KeywordEvidence evidence;
    for (int g = 0; g < groups; ++g) {
      answers.push_back(roll_answer(dice));
      KeywordGroup group{UntrustedText("x"), std::nullopt, kOne};
      if (answers.back() != kAbstains) group.keywords = words_of(answers.back());
      if (dice.chance(3)) {
        group.margin = 0;
        unstable.insert(static_cast<std::size_t>(g));
      }
      evidence.groups.push_back(group);
    }
    const int emitted = kept(answers, threshold);
    if (emitted == kAbstains) continue;
    // What the second prompt answers to each set of hints; with one answer for all, other hints do no harm.
    std::vector<std::string> second;
    for (int set = 0; set < 4; ++set)
      second.emplace_back(dice.chance(50) ? "The answer." : dice.chance(50) ? "answer" : "other");
    const bool asks = dice.chance(50);
    const AnswerFromHints answer = [&](std::span<const std::string> hints) -> Result<HintedAnswer> {
      return HintedAnswer{UntrustedText(second[static_cast<std::size_t>(bits_of(hints))]), kOne};
    };
    const HintSet hints{words_of(emitted), UntrustedText(second[static_cast<std::size_t>(emitted)]), kOne};
    const auto found = certify_keyword(evidence.groups, hints, {threshold.rule(), 0, 64}, {passages, group_size, 0},
                                       asks ? answer : AnswerFromHints());
    ASSERT_TRUE(found.ok()) << found.error().message;

    const bool says_other = hints.answer.bytes() == "other";
    for (int k_prime = 1; k_prime <= std::min(passages, 3); ++k_prime) {
      if (unstable.size() + static_cast<std::size_t>(k_prime) > 3) break;  // too many answers to try them all
      std::set<int> sets;
      test::every_touch(passages, group_size, k_prime, [&](std::set<std::size_t> touched) {
        touched.insert(unstable.begin(), unstable.end());
        Answers attacked = answers;
        reach(attacked, {touched.begin(), touched.end()}, 0, threshold, sets);
      });
      bool changed = false;
      for (const int set : sets) {
        if (set == kAbstains || (set & kNewWord) != 0) {
          changed = true;
        } else if (asks) {
          changed = changed || (second[static_cast<std::size_t>(set)] == "other") != says_other;
        } else {
          changed = changed || set != emitted;
        }
      }
      ASSERT_EQ(changed, k_prime > found->live.k_prime) << "round " << round << " k' " << k_prime;
      ++(changed ? refused : certified);
      if (k_prime != found->live.k_prime) continue;
      std::set<int> listed;
      for (const HintSet& set : found->hint_sets) listed.insert(bits_of(set.keywords));
      ASSERT_EQ(listed, sets) << "round " << round;
      several_sets += sets.size() > 1 ? 1 : 0;
    }
    if (round % 25 != 0 || found->live.k_prime == 0) continue;
    std::map<std::string, std::int64_t> counts;
    for (std::size_t g = 0; g < evidence.groups.size(); ++g) {
      if (!evidence.groups[g].keywords || unstable.contains(g)) continue;
      for (const std::string& word : *evidence.groups[g].keywords) ++counts[word];
    }
    evidence.counts.assign(counts.begin(), counts.end());
    evidence.alpha = threshold.rule().alpha.text();
    evidence.beta = threshold.rule().beta.text();
    evidence.kept = hints.keywords;
    evidence.hint_sets = found->hint_sets;
    Certificate certificate = test::frame(passages, group_size, 0);
    certificate.answer = hints.answer;
    certificate.evidence = evidence;
    ASSERT_TRUE(test::claim_holds(certificate, found->live.k_prime)) << "round " << round;
    if (found->live.k_prime < passages) {
      ASSERT_FALSE(test::claim_holds(certificate, found->live.k_prime + 1));
    }
  }
  EXPECT_GT(certified, 2000);
  EXPECT_GT(refused, 2000);
  EXPECT_GT(several_sets, 100);
}

void attack_data_set(PassageThreat threat, std::uint64_t seed) {
  Dice dice(seed);
  int certified = 0;
  int refused = 0;
  for (int round = 0; round < 10'000; ++round) {
    const int passages = dice.roll(2, 5);
    const int group_size = dice.roll(1, 2);
    const int malicious = dice.roll(0, 2);
    const Threshold threshold = roll_threshold(dice);
    test::Remembered<int> model([&] { return roll_answer(dice); });
    std::vector<double> scores;
    for (int set = 0; set < 4; ++set) scores.push_back(dice.roll(0, 4) / 4.0);
    const AnswerFromHints answer = [](std::span<const std::string> hints) -> Result<HintedAnswer> {
      return HintedAnswer{UntrustedText(std::to_string(bits_of(hints))), kOne};
    };
    const ScoreAnswer score = [&](const UntrustedText& text) -> Result<double> {
      return scores[static_cast<std::size_t>(std::stoi(text.bytes()))];
    };
    const auto cases = benign_cases(passages, group_size, malicious, threat);
    ASSERT_TRUE(cases.ok());
    bool holds = true;
    double tau = 1;
    for (const BenignCase& one : *cases) {
      KeywordCase benign;
      benign.corrupted_groups = one.corrupted_groups;
      for (const auto& group : one.groups) {
        if (model.of(group) != kAbstains) benign.answering.push_back(words_of(model.of(group)));
      }
      const auto outcome = certify_keyword_case(benign, {threshold.rule(), 0, 64}, answer, score);
      ASSERT_TRUE(outcome.ok());
      holds = holds && outcome->certified;
      tau = std::min(tau, outcome->tau);
    }
    std::set<int> sets;
    test::every_placement(passages, group_size, malicious, threat, [&](const std::vector<Group>& groups) {
      Answers answers;
      std::vector<std::size_t> attacked;
      for (const Group& group : groups) {
        if (test::is_malicious(group)) attacked.push_back(answers.size());
        answers.push_back(test::is_malicious(group) ? kAbstains : model.of(group));
      }
      reach(answers, attacked, 0, threshold, sets);
    });
    bool changed = false;
    double worst = 1;
    for (const int set : sets) {
      changed = changed || set == kAbstains || (set & kNewWord) != 0;
      if (!changed) worst = std::min(worst, scores[static_cast<std::size_t>(set)]);
    }
    ASSERT_EQ(holds, !changed) << "round " << round;
    ASSERT_EQ(tau, changed ? 0 : worst) << "round " << round;
    ++(changed ? refused : certified);
  }
  EXPECT_GT(certified, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(KeywordAttack, ByInjectionReachesExactlyTheCertifiedScore) { attack_data_set(PassageThreat::kInjection, 12); }
TEST(KeywordAttack, ByModificationReachesExactlyTheCertifiedScore) {
  attack_data_set(PassageThreat::kModification, 13);
}

}  // namespace
}  // namespace casemate
