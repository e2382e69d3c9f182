// A brute-force adversary against certificates by decoding. What corrupted groups add to the sums is every vector of
// non-negative eighths with the right sum; benign vectors are in quarters, so that the extreme points are among them.
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "casemate/certify/decoding.h"
#include "certify/attack.h"

namespace casemate {
namespace {

using test::Dice;
using test::Group;
using Vector = std::vector<int>;  // eighths a token; empty: the group is filtered out
using Tokens = std::vector<std::int32_t>;

constexpr Billionths kEighth = kOne / 8;
constexpr int kNoRetrieval = -1;

/// Every vector of `tokens` non-negative integers with sum `total`.
const std::vector<Vector>& additions(int tokens, int total) {
  static std::map<std::pair<int, int>, std::vector<Vector>> known;
  auto& out = known[{tokens, total}];
  if (!out.empty()) return out;
  std::function<void(Vector, int)> fill = [&](const Vector& begun, int left) {
    if (static_cast<int>(begun.size()) + 1 == tokens) {
      out.push_back(begun);
      out.back().push_back(left);
      return;
    }
    for (int mass = 0; mass <= left; ++mass) {
      Vector next = begun;
      next.push_back(mass);
      fill(next, left - mass);
    }
  };
  fill({}, total);
  return out;
}

/// What inference emits for these sums.
int emitted(const Vector& sums, int eta) {
  int best = 0;
  for (int token = 1; token < static_cast<int>(sums.size()); ++token) {
    if (sums[static_cast<std::size_t>(token)] > sums[static_cast<std::size_t>(best)]) best = token;
  }
  int second = INT32_MIN;
  for (int token = 0; token < static_cast<int>(sums.size()); ++token) {
    if (token != best) second = std::max(second, sums[static_cast<std::size_t>(token)]);
  }
  return sums[static_cast<std::size_t>(best)] - second > eta ? best : kNoRetrieval;
}

/// Everything that up to `corrupted` groups can make of `sums`.
std::set<int> reachable(const Vector& sums, int eta, int corrupted) {
  std::set<int> out;
  for (int passing = 0; passing <= corrupted; ++passing) {
    for (const Vector& addition : additions(static_cast<int>(sums.size()), 8 * passing)) {
      Vector attacked = sums;
      for (std::size_t token = 0; token < sums.size(); ++token) attacked[token] += addition[token];
      out.insert(emitted(attacked, eta));
    }
  }
  return out;
}

Vector roll_vector(Dice& dice, int tokens, int favourite) {
  Vector out(static_cast<std::size_t>(tokens), 0);
  for (int quarter = 0; quarter < 4; ++quarter) {
    out[static_cast<std::size_t>(dice.chance(65) ? favourite : dice.roll(0, tokens - 1))] += 2;
  }
  return out;
}

SparseProbabilities full(const Vector& vector, bool zeros) {
  SparseProbabilities out;
  for (std::size_t token = 0; token < vector.size(); ++token) {
    if (vector[token] > 0 || zeros) out.listed.push_back({static_cast<std::int32_t>(token), vector[token] * kEighth});
  }
  return out;
}

/// The most likely token alone, with a bound for the rest: less than is known.
SparseProbabilities truncated(const Vector& vector) {
  const auto best = std::max_element(vector.begin(), vector.end()) - vector.begin();
  SparseProbabilities out{{{static_cast<std::int32_t>(best), vector[static_cast<std::size_t>(best)] * kEighth}}, 0};
  for (std::size_t token = 0; token < vector.size(); ++token) {
    if (static_cast<std::ptrdiff_t>(token) != best) {
      out.largest_unlisted = std::max(out.largest_unlisted, vector[token] * kEighth);
    }
  }
  return out;
}

struct Live {
  int tokens = 2;
  int passages = 1;
  int group_size = 1;
  int eta = 0;
  std::vector<Vector> vectors;     ///< empty: abstains
  std::set<std::size_t> unstable;  ///< exactly at gamma
  int no_retrieval = 0;
  int answer = 0;
};

Live roll_live(Dice& dice) {
  Live out;
  out.tokens = dice.roll(2, 4);
  out.passages = dice.roll(1, 6);
  out.group_size = dice.roll(1, 2);
  const int etas[] = {0, 0, 2, 4, 8, 12, 16, 24, 40};
  out.eta = etas[dice.roll(0, 8)];
  out.no_retrieval = dice.roll(0, out.tokens - 1);
  const int favourite = dice.roll(0, out.tokens - 1);
  Vector sums(static_cast<std::size_t>(out.tokens), 0);
  for (int g = 0; g < (out.passages + out.group_size - 1) / out.group_size; ++g) {
    out.vectors.push_back(dice.chance(12) ? Vector() : roll_vector(dice, out.tokens, favourite));
    if (dice.chance(4)) out.unstable.insert(static_cast<std::size_t>(g));
    for (std::size_t token = 0; token < out.vectors.back().size(); ++token) sums[token] += out.vectors.back()[token];
  }
  out.answer = emitted(sums, out.eta);
  if (out.answer == kNoRetrieval) out.answer = out.no_retrieval;
  return out;
}

DecodingEvidence evidence_of(const Live& live, bool truncate) {
  DecodingEvidence out;
  out.eta = live.eta * kEighth;
  out.max_new_tokens = 1;
  DecodingStep step;
  step.token = live.answer;
  step.no_retrieval = {live.no_retrieval};
  for (std::size_t g = 0; g < live.vectors.size(); ++g) {
    const bool abstains = live.vectors[g].empty();
    out.groups.push_back({live.unstable.contains(g) ? out.gamma : abstains ? kOne : 0});
    step.groups.emplace_back();
    if (abstains || live.unstable.contains(g)) continue;
    step.groups.back() = truncate ? truncated(live.vectors[g]) : full(live.vectors[g], true);
  }
  out.steps = {step};
  return out;
}

/// True where an attacker with `k_prime` passages can bring about another token.
bool can_change(const Live& live, int k_prime) {
  bool changed = false;
  test::every_touch(live.passages, live.group_size, k_prime, [&](std::set<std::size_t> touched) {
    touched.insert(live.unstable.begin(), live.unstable.end());
    if (changed) return;
    Vector sums(static_cast<std::size_t>(live.tokens), 0);
    for (std::size_t g = 0; g < live.vectors.size(); ++g) {
      if (touched.contains(g)) continue;
      for (std::size_t token = 0; token < live.vectors[g].size(); ++token) sums[token] += live.vectors[g][token];
    }
    for (const int token : reachable(sums, live.eta, static_cast<int>(touched.size()))) {
      changed = changed || (token == kNoRetrieval ? live.no_retrieval : token) != live.answer;
    }
  });
  return changed;
}

TEST(DecodingAttack, ChangesALiveTokenExactlyWhereNothingIsCertified) {
  Dice dice(31);
  int certified = 0;
  int refused = 0;
  int truncated_certified = 0;
  for (int round = 0; round < 10'000; ++round) {
    const Live live = roll_live(dice);
    const LiveSetting setting{live.passages, live.group_size, 0};
    const DecodingEvidence evidence = evidence_of(live, false);
    const auto found = certify_decoding(evidence, live.tokens, setting);
    ASSERT_TRUE(found.ok()) << found.error().message;
    const auto bounded = certify_decoding(evidence_of(live, true), live.tokens, setting);
    ASSERT_TRUE(bounded.ok()) << bounded.error().message;
    // Knowing less never certifies more.
    ASSERT_LE(bounded->k_prime, found->k_prime) << "round " << round;
    truncated_certified += bounded->k_prime > 0 ? 1 : 0;
    Certificate certificate = test::frame(live.passages, live.group_size, 0, live.tokens);
    certificate.answer = UntrustedText("x");
    certificate.evidence = evidence;
    for (int k_prime = 1; k_prime <= std::min(live.passages, 2); ++k_prime) {
      if (live.unstable.size() > 1) break;
      const bool changed = can_change(live, k_prime);
      ASSERT_EQ(changed, k_prime > found->k_prime) << "round " << round << " k' " << k_prime;
      if (round % 20 == 0) {
        ASSERT_EQ(test::claim_holds(certificate, k_prime), !changed) << "round " << round;
      }
      ++(changed ? refused : certified);
    }
  }
  EXPECT_GT(certified, 3000);
  EXPECT_GT(refused, 3000);
  EXPECT_GT(truncated_certified, 1000);
}

TEST(DecodingAttack, SucceedsAtNoTokenOfALongerAnswerThatIsCertified) {
  Dice dice(32);
  int certified = 0;
  for (int round = 0; round < 2'000; ++round) {
    Live first = roll_live(dice);
    first.passages = 5;
    first.group_size = 1;
    first.unstable.clear();
    std::vector<Live> steps;
    DecodingEvidence evidence;
    const int favourite = dice.roll(0, first.tokens - 1);
    for (int at = 0; at < 3; ++at) {
      Live step = first;
      step.vectors.clear();
      Vector sums(static_cast<std::size_t>(step.tokens), 0);
      for (int g = 0; g < 5; ++g) {
        step.vectors.push_back(roll_vector(dice, step.tokens, favourite));
        for (std::size_t token = 0; token < sums.size(); ++token) sums[token] += step.vectors.back()[token];
      }
      step.answer = emitted(sums, step.eta);
      if (step.answer == kNoRetrieval) step.answer = step.no_retrieval;
      DecodingEvidence one = evidence_of(step, false);
      if (at == 0) {
        evidence = one;
      } else {
        evidence.steps.push_back(one.steps[0]);
      }
      steps.push_back(step);
    }
    evidence.max_new_tokens = 3;
    const auto found = certify_decoding(evidence, first.tokens, {5, 1, 0});
    ASSERT_TRUE(found.ok());
    for (int k_prime = 1; k_prime <= 2; ++k_prime) {
      bool changed = false;
      for (const Live& step : steps) changed = changed || can_change(step, k_prime);
      ASSERT_EQ(changed, k_prime > found->k_prime) << "round " << round;
      certified += changed ? 0 : 1;
    }
  }
  EXPECT_GT(certified, 300);
}

/// Probabilities that differ by epsilon in another batch: one eighth here, so that it matters.
TEST(DecodingAttack, IsNotHelpedByTheNumericSlack) {
  Dice dice(33);
  int certified = 0;
  int needed_the_slack = 0;
  for (int round = 0; round < 10'000; ++round) {
    Live live = roll_live(dice);
    live.tokens = std::min(live.tokens, 3);
    live.unstable.clear();
    live.no_retrieval = std::min(live.no_retrieval, live.tokens - 1);
    Vector sums(static_cast<std::size_t>(live.tokens), 0);
    const int favourite = dice.roll(0, live.tokens - 1);
    for (Vector& vector : live.vectors) {
      vector = roll_vector(dice, live.tokens, favourite);
      for (std::size_t token = 0; token < vector.size(); ++token) sums[token] += vector[token];
    }
    live.answer = emitted(sums, live.eta);
    if (live.answer == kNoRetrieval) live.answer = live.no_retrieval;
    const auto found =
        certify_decoding(evidence_of(live, false), live.tokens, {live.passages, live.group_size, kEighth});
    ASSERT_TRUE(found.ok()) << found.error().message;
    const auto exact = certify_decoding(evidence_of(live, false), live.tokens, {live.passages, live.group_size, 0});
    needed_the_slack += exact->k_prime > found->k_prime ? 1 : 0;
    if (found->k_prime == 0) continue;
    ++certified;
    // The worst: one token gains epsilon in every group and another one loses it.
    for (int gains = 0; gains < live.tokens; ++gains) {
      for (int loses = 0; loses < live.tokens; ++loses) {
        if (gains == loses) continue;
        Live other_batch = live;
        for (Vector& vector : other_batch.vectors) {
          ++vector[static_cast<std::size_t>(gains)];
          --vector[static_cast<std::size_t>(loses)];
        }
        ASSERT_FALSE(can_change(other_batch, static_cast<int>(std::min<std::int64_t>(found->k_prime, 2))))
            << "round " << round;
      }
    }
  }
  EXPECT_GT(certified, 1000);
  EXPECT_GT(needed_the_slack, 500);
}

/// A tiny model: two steps, for each group of passages and each prefix a vector.
struct TinyModel {
  explicit TinyModel(Dice& dice)
      : tokens(dice.roll(2, 3)),
        eta(dice.roll(0, 3) * 4),
        favourite(dice.roll(0, tokens - 1)),
        groups([this, &dice] { return roll(dice); }) {
    for (int prefix = kNoRetrieval; prefix < tokens; ++prefix) no_retrieval[prefix] = dice.roll(0, tokens - 1);
  }
  /// By prefix: kNoRetrieval stands for the empty one. No entry: the group is filtered out.
  using Answers = std::map<int, Vector>;
  Answers roll(Dice& dice) const {
    Answers out;
    if (dice.chance(10)) return out;
    for (int prefix = kNoRetrieval; prefix < tokens; ++prefix) out[prefix] = roll_vector(dice, tokens, favourite);
    return out;
  }
  [[nodiscard]] double score(std::span<const std::int32_t> output) const {
    int hash = 0;
    for (const std::int32_t token : output) hash = hash * 3 + token + 1;
    return (hash % 5) / 4.0;
  }

  int tokens;
  int eta;
  int favourite;
  test::Remembered<Answers> groups;
  std::map<int, int> no_retrieval;
};

constexpr int kEnd = 0;

struct Outputs {
  double worst = 1;
  bool any_token = false;
};

/// Follows every output that is reachable when `benign` answers and `corrupted` groups attack.
void follow(TinyModel& model, const std::vector<TinyModel::Answers>& benign, int corrupted, const Tokens& prefix,
            Outputs& out) {
  if (prefix.size() == 2 || (!prefix.empty() && prefix.back() == kEnd)) {
    out.worst = std::min(out.worst, model.score(prefix));
    return;
  }
  const int at = prefix.empty() ? kNoRetrieval : prefix.back();
  Vector sums(static_cast<std::size_t>(model.tokens), 0);
  for (const auto& answers : benign) {
    if (answers.empty()) continue;
    for (std::size_t token = 0; token < sums.size(); ++token) sums[token] += answers.at(at)[token];
  }
  for (const int token : reachable(sums, model.eta, corrupted)) {
    // A token that no benign group gives any mass may as well be any other of a real vocabulary.
    if (token != kNoRetrieval && sums[static_cast<std::size_t>(token)] == 0) out.any_token = true;
    Tokens next = prefix;
    next.push_back(token == kNoRetrieval ? model.no_retrieval[at] : token);
    follow(model, benign, corrupted, next, out);
  }
}

void attack_data_set(PassageThreat threat, std::uint64_t seed) {
  Dice dice(seed);
  int certified = 0;
  int refused = 0;
  for (int round = 0; round < 10'000; ++round) {
    TinyModel model(dice);
    const int passages = dice.roll(2, 4);
    const int group_size = dice.roll(1, 2);
    const int malicious = dice.roll(1, std::min(2, passages - 1));
    const auto cases = benign_cases(passages, group_size, malicious, threat);
    ASSERT_TRUE(cases.ok());
    bool holds = true;
    double tau = 1;
    for (const BenignCase& one : *cases) {
      DecodingModel decoding;
      decoding.groups = [&](std::span<const std::int32_t> prefix) -> Result<std::vector<SparseProbabilities>> {
        std::vector<SparseProbabilities> out;
        for (const auto& group : one.groups) {
          const auto& answers = model.groups.of(group);
          if (!answers.empty()) out.push_back(full(answers.at(prefix.empty() ? kNoRetrieval : prefix.back()), false));
        }
        return out;
      };
      decoding.no_retrieval = [&](std::span<const std::int32_t> prefix) -> Result<Tokens> {
        return Tokens{model.no_retrieval[prefix.empty() ? kNoRetrieval : prefix.back()]};
      };
      decoding.is_end = [](std::int32_t token) { return token == kEnd; };
      decoding.score = [&](std::span<const std::int32_t> output) -> Result<double> { return model.score(output); };
      const auto outcome =
          certify_decoding_case(decoding, {{model.eta * kEighth, 0, model.tokens}, one.corrupted_groups, 2, 100});
      ASSERT_TRUE(outcome.ok()) << outcome.error().message;
      holds = holds && outcome->certified;
      tau = std::min(tau, outcome->tau);
    }
    Outputs outputs;
    test::every_placement(passages, group_size, malicious, threat, [&](const std::vector<Group>& groups) {
      std::vector<TinyModel::Answers> benign;
      for (const Group& group : groups) {
        if (!test::is_malicious(group)) benign.push_back(model.groups.of(group));
      }
      follow(model, benign, static_cast<int>(groups.size() - benign.size()), {}, outputs);
    });
    ASSERT_EQ(holds, !outputs.any_token) << "round " << round;
    ASSERT_EQ(tau, outputs.any_token ? 0 : outputs.worst) << "round " << round;
    ++(holds ? certified : refused);
  }
  EXPECT_GT(certified, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(DecodingAttack, ByInjectionReachesExactlyTheCertifiedScore) { attack_data_set(PassageThreat::kInjection, 34); }
TEST(DecodingAttack, ByModificationReachesExactlyTheCertifiedScore) {
  attack_data_set(PassageThreat::kModification, 35);
}

}  // namespace
}  // namespace casemate
