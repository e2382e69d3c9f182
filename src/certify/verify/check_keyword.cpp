#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "certify/verify/checks.h"
#include "certify/verify/choices.h"

namespace casemate::verify {
namespace {

using Words = std::vector<std::string>;

/// A decimal as integer / scale.
struct Fraction {
  std::int64_t value = 0;
  std::int64_t scale = 1;
};

/// Digits, and at most nine more after a point; the shortest form only.
std::optional<Fraction> read_fraction(const std::string& text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string whole = text.substr(0, point);
  const std::string rest = point < text.size() ? text.substr(point + 1) : "";
  const bool only_digits = (whole + rest).find_first_not_of("0123456789") == std::string::npos;
  const bool shortest = !whole.empty() && (whole == "0" || whole[0] != '0') &&
                        (point == text.size() || (!rest.empty() && rest.back() != '0'));
  if (!only_digits || !shortest || whole.size() > 6 || rest.size() > 9) return std::nullopt;
  Fraction out;
  for (const char digit : whole + rest) out.value = out.value * 10 + (digit - '0');
  for (std::size_t i = 0; i < rest.size(); ++i) out.scale *= 10;
  return out;
}

std::int64_t round_up(std::int64_t value, std::int64_t scale) { return (value + scale - 1) / scale; }

class KeywordCheck {
 public:
  KeywordCheck(const Certificate& certificate, const KeywordEvidence& evidence, Fraction alpha, Fraction beta)
      : evidence_(evidence), alpha_(alpha), beta_(beta) {
    std::int64_t unstable = 0;
    for (const KeywordGroup& group : evidence.groups) {
      all_answering_ += group.keywords ? 1 : 0;
      if (group.keywords) count(*group.keywords, all_counts_);
      if (is_unstable(group.margin, certificate.epsilon)) {
        ++unstable;
      } else if (group.keywords) {
        answering_.push_back(&*group.keywords);
        count(*group.keywords, counts_);
      } else {
        ++abstaining_;
      }
    }
    attacker_ = attacker_of(certificate.k_prime, answering() + abstaining_, unstable);
  }

  [[nodiscard]] bool counts_are_right() const {
    return std::vector<std::pair<std::string, std::int64_t>>(counts_.begin(), counts_.end()) == evidence_.counts;
  }

  [[nodiscard]] bool kept_is_right() const {
    Words kept;
    for (const auto& [word, count] : all_counts_) {
      if (count >= threshold(all_answering_)) kept.push_back(word);
    }
    return all_answering_ > 0 && kept == evidence_.kept;
  }

  /// True where no words of the attacker alone become hints, and some group answers, whatever groups are taken.
  [[nodiscard]] bool attacker_alone_keeps_nothing() const {
    return every_split([this](std::int64_t taken) {
      return answering() - taken >= 1 && threshold(answering() - taken + attacker_.groups()) > attacker_.groups();
    });
  }

  /// True where every kept word stays and no other one comes in, whatever groups are taken and whatever they say.
  [[nodiscard]] bool hints_are_forced(Work& work) const {
    work.spend(counts_.size() + 1, static_cast<std::uint64_t>(attacker_.taken) + 1);
    return every_split([this](std::int64_t taken) {
      const std::int64_t needed = threshold(answering() - taken + attacker_.groups());
      for (const auto& [word, count] : counts_) {
        const bool kept = std::binary_search(evidence_.kept.begin(), evidence_.kept.end(), word);
        // Worst for a kept word: the groups taken said it. Best for another: they are those that did not.
        const std::int64_t least = count - std::min(count, taken);
        const std::int64_t most = count - std::max<std::int64_t>(0, taken - (answering() - count));
        if (kept ? least < needed : most + attacker_.groups() >= needed) return false;
      }
      // A kept word that no stable group says is the unstable groups' alone.
      return std::all_of(evidence_.kept.begin(), evidence_.kept.end(),
                         [this](const std::string& word) { return counts_.contains(word); });
    });
  }

  /// True where every set of hints that can come about is listed.
  [[nodiscard]] bool all_sets_are_listed(Work& work) const {
    std::set<Words> listed;
    for (const HintSet& set : evidence_.hint_sets) listed.insert(set.keywords);
    const auto stable = static_cast<std::size_t>(answering() + abstaining_);
    const auto cost = static_cast<std::uint64_t>(counts_.size()) * listed.size() + static_cast<std::uint64_t>(stable);
    return every_choice(stable, static_cast<std::size_t>(attacker_.taken), cost, work,
                        [&](std::span<const std::size_t> taken) { return sets_of_choice_are_in(listed, taken); });
  }

 private:
  [[nodiscard]] std::int64_t answering() const { return static_cast<std::int64_t>(answering_.size()); }

  static void count(const Words& words, std::map<std::string, std::int64_t>& counts) {
    for (const std::string& word : words) ++counts[word];
  }

  /// Least count of a hint where `answering` groups answer.
  [[nodiscard]] std::int64_t threshold(std::int64_t answering) const {
    return std::min(round_up(alpha_.value * answering, alpha_.scale), round_up(beta_.value, beta_.scale));
  }

  /// Calls with each number of answering groups that may be among those taken.
  template <typename Condition>
  [[nodiscard]] bool every_split(const Condition& holds) const {
    const std::int64_t most = std::min(attacker_.taken, answering());
    for (std::int64_t taken = std::max<std::int64_t>(0, attacker_.taken - abstaining_); taken <= most; ++taken) {
      if (!holds(taken)) return false;
    }
    return true;
  }

  /// `taken`: numbers of stable groups, the answering ones first.
  [[nodiscard]] bool sets_of_choice_are_in(const std::set<Words>& listed, std::span<const std::size_t> taken) const {
    auto left = counts_;
    std::int64_t remaining = answering();
    for (const std::size_t group : taken) {
      if (group >= answering_.size()) continue;
      --remaining;
      for (const std::string& word : *answering_[group]) --left[word];
    }
    const std::int64_t needed = threshold(remaining + attacker_.groups());
    Words certain;
    Words possible;
    for (const auto& [word, count] : left) {
      if (count >= needed) {
        certain.push_back(word);
      } else if (count + attacker_.groups() >= needed) {
        possible.push_back(word);
      }
    }
    if (possible.size() >= 63 || (std::uint64_t{1} << possible.size()) > listed.size()) return false;
    for (std::uint64_t chosen = 0; chosen < (std::uint64_t{1} << possible.size()); ++chosen) {
      Words set = certain;
      for (std::size_t i = 0; i < possible.size(); ++i) {
        if (((chosen >> i) & 1U) != 0) set.push_back(possible[i]);
      }
      std::sort(set.begin(), set.end());
      if (!listed.contains(set)) return false;
    }
    return true;
  }

  const KeywordEvidence& evidence_;
  Fraction alpha_;
  Fraction beta_;
  std::vector<const Words*> answering_;  ///< of stable groups
  std::int64_t abstaining_ = 0;          ///< stable ones
  std::int64_t all_answering_ = 0;
  std::map<std::string, std::int64_t> counts_;
  std::map<std::string, std::int64_t> all_counts_;
  Attacker attacker_;
};

void check_hint_answers(const Certificate& certificate, const KeywordEvidence& evidence, Checks& checks) {
  const std::string expected = normal_form(certificate.answer.bytes());
  bool same = true;
  bool stable = true;
  bool there = false;
  for (const HintSet& set : evidence.hint_sets) {
    same = same && normal_form(set.answer.bytes()) == expected;
    stable = stable && !is_unstable(set.margin, certificate.epsilon);
    there = there || (set.keywords == evidence.kept && set.answer == certificate.answer);
  }
  checks.add("the answer is the second prompt's to the hints kept", there);
  checks.add("the second prompt's answers differ by case, punctuation, articles and white space at most", same);
  checks.add("the second prompt's answers are stable under the slack", stable);
}

}  // namespace

void check_keyword(const Certificate& certificate, const KeywordEvidence& evidence, Checks& checks) {
  const auto alpha = read_fraction(evidence.alpha);
  const auto beta = read_fraction(evidence.beta);
  const bool in_range = alpha && beta && alpha->value > 0 && alpha->value <= alpha->scale && beta->value >= beta->scale;
  if (!checks.add("alpha is a decimal in (0, 1], beta one of at least 1", in_range)) return;

  bool honest = true;
  for (const KeywordGroup& group : evidence.groups) {
    honest = honest && !hides_abstention(group.answer, !group.keywords.has_value());
  }
  checks.add("groups whose answer declines abstain", honest);
  const KeywordCheck check(certificate, evidence, *alpha, *beta);
  checks.add("the counts are those of the stable groups' keywords", check.counts_are_right());
  checks.add("the hints kept are those with enough counts", check.kept_is_right());
  checks.add("the attacker's words alone never become hints, and a group always answers",
             check.attacker_alone_keeps_nothing());
  if (evidence.hint_sets.size() == 1) {
    checks.add("the hints stay the same", check.hints_are_forced(checks.work()));
  } else {
    checks.add("every set of hints that can come about is listed", check.all_sets_are_listed(checks.work()),
               std::to_string(evidence.hint_sets.size()) + " sets");
  }
  check_hint_answers(certificate, evidence, checks);
}

}  // namespace casemate::verify
