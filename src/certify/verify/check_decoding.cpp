#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "certify/verify/checks.h"
#include "certify/verify/choices.h"

namespace casemate::verify {
namespace {

constexpr Billionths kSumTolerance = 1'000'000;  ///< a model's probabilities are rounded numbers

/// What one step's groups say of each token that any of them lists, of the emitted one, and, as the last column, of
/// every other token of the vocabulary.
struct Columns {
  std::vector<std::int32_t> tokens;            ///< ascending, without the last column
  bool has_others = false;                     ///< some token is in none of them: there is a last column
  std::vector<std::vector<Billionths>> least;  ///< [columns][answering groups]
  std::vector<std::vector<Billionths>> most;
};

Columns columns_of(const DecodingStep& step, std::int64_t vocabulary, Work& work) {
  Columns out;
  out.tokens.push_back(step.token);
  std::size_t groups = 0;
  for (const auto& group : step.groups) {
    if (!group) continue;
    ++groups;
    for (const TokenProbability& entry : group->listed) out.tokens.push_back(entry.token);
  }
  std::sort(out.tokens.begin(), out.tokens.end());
  out.tokens.erase(std::unique(out.tokens.begin(), out.tokens.end()), out.tokens.end());
  out.has_others = static_cast<std::int64_t>(out.tokens.size()) < vocabulary;
  const std::size_t columns = out.tokens.size() + (out.has_others ? 1 : 0);
  work.spend(columns, groups + 1);
  out.least.assign(columns, std::vector<Billionths>(groups, 0));
  out.most = out.least;
  std::size_t at = 0;
  for (const auto& group : step.groups) {
    if (!group) continue;
    for (auto& column : out.most) column[at] = group->largest_unlisted;
    for (const TokenProbability& entry : group->listed) {
      const auto found = std::lower_bound(out.tokens.begin(), out.tokens.end(), entry.token);
      const auto column = static_cast<std::size_t>(found - out.tokens.begin());
      out.least[column][at] = entry.probability;
      out.most[column][at] = entry.probability;
    }
    ++at;
  }
  return out;
}

class StepCheck {
 public:
  StepCheck(const DecodingStep& step, std::int64_t vocabulary, Attacker attacker, std::int64_t abstaining,
            Billionths eta, Billionths epsilon, Work& work)
      : step_(step),
        columns_(columns_of(step, vocabulary, work)),
        groups_(static_cast<std::int64_t>(columns_.least[0].size())),
        attacker_(attacker),
        first_(std::max<std::int64_t>(0, attacker.taken - abstaining)),
        last_(std::min(attacker.taken, groups_)),
        eta_(eta),
        epsilon_(epsilon),
        work_(work) {
    const auto found = std::lower_bound(columns_.tokens.begin(), columns_.tokens.end(), step.token);
    emitted_ = static_cast<std::size_t>(found - columns_.tokens.begin());
  }

  [[nodiscard]] bool holds() const {
    const bool falls_back_on_itself = step_.no_retrieval.size() == 1 && step_.no_retrieval[0] == step_.token;
    for (std::size_t other = 0; other < columns_.least.size(); ++other) {
      if (other == emitted_) continue;
      if (!(falls_back_on_itself ? never_wins(other) : always_beaten(other))) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] Billionths slack(std::int64_t taken) const { return 2 * (groups_ - taken) * epsilon_; }
  [[nodiscard]] Billionths attack() const { return attacker_.groups() * kOne; }

  /// Least of the sum of `a` minus `b` over the groups that stay, for each number of answering groups taken.
  template <typename Condition>
  [[nodiscard]] bool every_worst(const std::vector<Billionths>& a, const std::vector<Billionths>& b,
                                 const Condition& holds) const {
    work_.spend(1, 2 * a.size() + 1);
    std::vector<Billionths> differences(a.size());
    for (std::size_t g = 0; g < a.size(); ++g) differences[g] = a[g] - b[g];
    std::sort(differences.begin(), differences.end(), std::greater<>());
    Billionths sum = std::accumulate(differences.begin(), differences.end(), Billionths{0});
    for (std::int64_t taken = 0; taken <= last_; ++taken) {
      if (taken >= first_ && !holds(taken, sum)) return false;
      if (taken < last_) sum -= differences[static_cast<std::size_t>(taken)];
    }
    return true;
  }

  /// True where the emitted token leads `other` by more than anyone can take away: neither `other` nor the token
  /// without retrieval can come out for it.
  [[nodiscard]] bool always_beaten(std::size_t other) const {
    return every_worst(columns_.least[emitted_], columns_.most[other],
                       [this](std::int64_t taken, Billionths lead) { return lead > eta_ + attack() + slack(taken); });
  }

  /// True where `other` cannot lead all others by more than eta. Enough is one token that it never leads so; which one
  /// may depend on what is taken.
  [[nodiscard]] bool never_wins(std::size_t other) const {
    const auto held_back_by = [&](const std::vector<Billionths>& least) {
      return every_worst(least, columns_.most[other], [this](std::int64_t taken, Billionths lead) {
        return -lead + attack() <= eta_ - slack(taken);
      });
    };
    if (held_back_by(columns_.least[emitted_])) return true;
    if (held_back_by(std::vector<Billionths>(columns_.least[0].size(), 0))) return true;
    for (std::size_t rival = 0; rival < columns_.least.size(); ++rival) {
      if (rival != other && rival != emitted_ && held_back_by(columns_.least[rival])) return true;
    }
    return never_wins_by_choice(other);
  }

  [[nodiscard]] bool never_wins_by_choice(std::size_t other) const {
    const std::size_t groups = columns_.least[0].size();
    const std::uint64_t cost = columns_.least.size() * (groups + 1);
    for (std::int64_t taken = first_; taken <= last_; ++taken) {
      const auto count = static_cast<std::size_t>(taken);
      const bool held = every_choice(groups, count, cost, work_, [&](std::span<const std::size_t> choice) {
        const auto left = [&](const std::vector<Billionths>& column) {
          Billionths sum = std::accumulate(column.begin(), column.end(), Billionths{0});
          for (const std::size_t group : choice) sum -= column[group];
          return sum;
        };
        Billionths best = 0;
        for (std::size_t rival = 0; rival < columns_.least.size(); ++rival) {
          if (rival != other) best = std::max(best, left(columns_.least[rival]));
        }
        return left(columns_.most[other]) + attack() - best <= eta_ - slack(taken);
      });
      if (!held) return false;
    }
    return true;
  }

  const DecodingStep& step_;
  Columns columns_;
  std::int64_t groups_;  ///< that answer and are stable
  Attacker attacker_;
  std::int64_t first_;  ///< answering groups among those taken: from here
  std::int64_t last_;   ///< to here
  Billionths eta_;
  Billionths epsilon_;
  Work& work_;
  std::size_t emitted_ = 0;
};

/// True where exactly the groups that count have probabilities, and these are probabilities.
bool probabilities_are_sound(const DecodingStep& step, const std::vector<bool>& counts, std::int64_t vocabulary) {
  for (std::size_t g = 0; g < step.groups.size(); ++g) {
    const auto& group = step.groups[g];
    if (group.has_value() != counts[g]) return false;
    if (!group) continue;
    Billionths sum = 0;
    for (const TokenProbability& entry : group->listed) {
      sum += entry.probability;
      if (entry.token >= vocabulary) return false;
    }
    if (sum > kOne + kSumTolerance) return false;
  }
  return step.token < vocabulary && (step.no_retrieval.empty() || step.no_retrieval.back() < vocabulary);
}

bool ends_as_it_should(const DecodingEvidence& evidence) {
  for (std::size_t i = 0; i < evidence.steps.size(); ++i) {
    const bool ends =
        std::binary_search(evidence.end_tokens.begin(), evidence.end_tokens.end(), evidence.steps[i].token);
    const bool last = i + 1 == evidence.steps.size();
    if (ends && !last) return false;
    if (last && !ends && static_cast<std::int64_t>(evidence.steps.size()) != evidence.max_new_tokens) return false;
  }
  return true;
}

}  // namespace

void check_decoding(const Certificate& certificate, const DecodingEvidence& evidence, Checks& checks) {
  const std::int64_t vocabulary = certificate.model.vocabulary;
  const Billionths epsilon = certificate.epsilon;
  std::int64_t answering = 0;
  std::int64_t unstable = 0;
  std::vector<bool> counts;
  for (const DecodingGroup& group : evidence.groups) {
    const bool is_near = std::max(group.refusal, evidence.gamma) - std::min(group.refusal, evidence.gamma) <= epsilon;
    const bool abstains = group.refusal > evidence.gamma;
    counts.push_back(!is_near && !abstains);
    unstable += is_near ? 1 : 0;
    answering += counts.back() ? 1 : 0;
  }
  const std::int64_t stable = static_cast<std::int64_t>(evidence.groups.size()) - unstable;
  const Attacker attacker = attacker_of(certificate.k_prime, stable, unstable);
  bool sound = checks.add("the vocabulary's size is stated", vocabulary >= 2);
  for (const DecodingStep& step : evidence.steps) sound = sound && probabilities_are_sound(step, counts, vocabulary);
  checks.add("each step has probabilities of exactly the stable groups that answer, summing to at most 1", sound);
  checks.add("the answer ends at an end token or at its longest", ends_as_it_should(evidence));
  if (!sound) return;

  std::size_t failed = 0;
  std::string where;
  for (std::size_t i = 0; i < evidence.steps.size(); ++i) {
    const StepCheck check(evidence.steps[i], vocabulary, attacker, stable - answering, evidence.eta, epsilon,
                          checks.work());
    if (check.holds()) continue;
    if (failed++ == 0)
      where = "not so at step " + std::to_string(i + 1) + " of " + std::to_string(evidence.steps.size());
  }
  checks.add("every token is forced", failed == 0,
             failed == 0 ? std::to_string(evidence.steps.size()) + " tokens" : where);
}

}  // namespace casemate::verify
