#include "eval/answer_summary.h"

#include <algorithm>
#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "casemate/certify/normal_form.h"

namespace casemate {
namespace {

using nlohmann::ordered_json;

void add(Share& share, bool counts) {
  ++share.of;
  share.count += counts ? 1 : 0;
}

AnswerCondition condition_of(const AnswerConditionLog& log) {
  AnswerCondition out;
  out.method = log.method->name;
  out.attack = log.attack->name;
  for (const AnswerOutcome& outcome : log.outcomes) {
    if (!outcome.error.empty()) continue;
    add(out.right, outcome.right);
    add(out.valid, outcome.valid);
    add(out.declined, outcome.declined);
    if (outcome.attack_success) add(out.attack_success, *outcome.attack_success);
  }
  std::vector<double> seconds;
  double tokens = 0;
  for (const AnswerCost& cost : log.costs) {
    seconds.push_back(cost.seconds);
    tokens += cost.decoded_tokens;
  }
  out.timed = log.costs.size();
  out.seconds = percentile(seconds, 0.5);
  if (!log.costs.empty()) out.tokens = tokens / static_cast<double>(log.costs.size());
  return out;
}

/// A certificate's claim is about the clean answer being right (data set) or staying as it is (live).
class CertifiedCounter {
 public:
  CertifiedCounter(const AnswerConditionLog& clean, std::span<const AnswerConditionLog> logs) : clean_(clean) {
    for (const AnswerConditionLog& log : logs) {
      if (log.method == clean.method && log.attack->kind != AnswerAttack::Kind::kNone) attacked_.push_back(&log);
    }
  }

  CertifiedShare over_data_set(const CertifyBudget& budget) const {
    CertifiedShare out{clean_.method->name, budget.name(), {}, 0, 0};
    for (std::size_t q = 0; q < clean_.outcomes.size(); ++q) {
      const AnswerOutcome& outcome = clean_.outcomes[q];
      if (!outcome.error.empty()) continue;
      const auto found = std::find_if(outcome.certificates.begin(), outcome.certificates.end(),
                                      [&](const LoggedCertificate& each) { return each.budget == budget.name(); });
      const bool certified = found != outcome.certificates.end() && found->certified && found->tau >= 1;
      add(out.certified, certified);
      if (!certified) continue;
      // Fewer passages are covered too, and an insertion is a kind of modification.
      test(q, budget.malicious, true, out, [](const AnswerOutcome& attacked) { return attacked.right; });
    }
    return out;
  }

  CertifiedShare live(int malicious) const {
    CertifiedShare out{clean_.method->name, "live " + std::to_string(malicious), {}, 0, 0};
    for (std::size_t q = 0; q < clean_.outcomes.size(); ++q) {
      const AnswerOutcome& outcome = clean_.outcomes[q];
      if (!outcome.live_k_prime) continue;
      const bool certified = *outcome.live_k_prime >= malicious;
      add(out.certified, certified);
      if (!certified) continue;
      // Replacement in place is what is claimed: inserting at the first rank moves passages into other groups, unless
      // each stands alone.
      const bool insertions = clean_.method->robust.group_size == 1;
      test(q, malicious, insertions, out, [&](const AnswerOutcome& attacked) { return same(attacked, outcome); });
    }
    return out;
  }

 private:
  /// As far as a live certificate claims it: hints may differ, and then the answer is the same up to its normal form.
  [[nodiscard]] bool same(const AnswerOutcome& attacked, const AnswerOutcome& clean) const {
    if (clean_.method->robust.method != Aggregation::kKeyword) return attacked.answer == clean.answer;
    return certify::normal_form(attacked.answer) == certify::normal_form(clean.answer);
  }

  template <typename Holds>
  void test(std::size_t question, int malicious, bool insertions, CertifiedShare& out, const Holds& holds) const {
    bool broken = false;
    for (const AnswerConditionLog* log : attacked_) {
      if (log->attack->count > malicious || question >= log->outcomes.size()) continue;
      if (log->attack->first && !insertions) continue;
      if (!log->outcomes[question].error.empty()) continue;
      ++out.tested;
      broken = broken || !holds(log->outcomes[question]);
    }
    out.broken += broken ? 1 : 0;
  }

  const AnswerConditionLog& clean_;
  std::vector<const AnswerConditionLog*> attacked_;
};

ordered_json share_json(const Share& share) {
  ordered_json out = {{"count", share.count}, {"of", share.of}};
  if (const auto interval = share.interval()) {
    out["rate"] = share.rate();
    out["low"] = interval->low;
    out["high"] = interval->high;
  }
  return out;
}

std::string share_text(const Share& share) {
  const auto interval = share.interval();
  if (!interval) return "-";
  std::ostringstream out;
  out << std::fixed << std::setprecision(2) << share.rate() << " [" << interval->low << ", " << interval->high << "]";
  return out.str();
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace

AnswerSummary summarise_answers(const AnswerExperiment& experiment, std::span<const AnswerConditionLog> logs) {
  AnswerSummary out;
  out.experiment = experiment.name;
  out.description = experiment.description;
  out.seed = experiment.seed;
  out.passages = experiment.passages;
  for (const AnswerConditionLog& log : logs) out.conditions.push_back(condition_of(log));
  for (const AnswerConditionLog& log : logs) {
    if (log.attack->kind != AnswerAttack::Kind::kNone || !log.method->aggregates()) continue;
    const CertifiedCounter counter(log, logs);
    for (const CertifyBudget& budget : experiment.budgets) out.certified.push_back(counter.over_data_set(budget));
    if (!experiment.live) continue;
    for (const int malicious : {1, 2}) out.certified.push_back(counter.live(malicious));
  }
  return out;
}

std::string to_json(const AnswerSummary& summary) {
  ordered_json conditions = ordered_json::array();
  for (const AnswerCondition& each : summary.conditions) {
    conditions.push_back({{"method", each.method},
                          {"attack", each.attack},
                          {"right", share_json(each.right)},
                          {"attack_success", share_json(each.attack_success)},
                          {"valid", share_json(each.valid)},
                          {"declined", share_json(each.declined)}});
  }
  ordered_json certified = ordered_json::array();
  for (const CertifiedShare& each : summary.certified) {
    certified.push_back({{"method", each.method},
                         {"budget", each.budget},
                         {"certified", share_json(each.certified)},
                         {"attacks_tried", each.tested},
                         {"broken", each.broken}});
  }
  return ordered_json{{"experiment", summary.experiment},
                      {"description", summary.description},
                      {"model", summary.model},
                      {"seed", summary.seed},
                      {"passages", summary.passages},
                      {"questions", summary.questions},
                      {"of_questions", summary.of_questions},
                      {"quick", summary.quick},
                      {"conditions", std::move(conditions)},
                      {"certified", std::move(certified)}}
      .dump(1);
}

std::string to_csv(const AnswerSummary& summary) {
  std::ostringstream out;
  out << "method,attack,figure,count,of,rate,low,high\n";
  const auto line = [&](const std::string& method, const std::string& attack, const std::string& figure,
                        const Share& share) {
    const auto interval = share.interval();
    out << quoted(method) << ',' << quoted(attack) << ',' << quoted(figure) << ',' << share.count << ',' << share.of;
    if (interval) {
      out << ',' << share.rate() << ',' << interval->low << ',' << interval->high << '\n';
    } else {
      out << ",,,\n";
    }
  };
  for (const AnswerCondition& each : summary.conditions) {
    line(each.method, each.attack, "right", each.right);
    line(each.method, each.attack, "attack success", each.attack_success);
    line(each.method, each.attack, "valid", each.valid);
    line(each.method, each.attack, "declined", each.declined);
  }
  for (const CertifiedShare& each : summary.certified) line(each.method, each.budget, "certified", each.certified);
  return out.str();
}

std::string to_markdown(const AnswerSummary& summary, bool with_costs) {
  std::ostringstream out;
  out << "# " << summary.experiment << "\n\n"
      << summary.description << "\n\n"
      << summary.questions << " of " << summary.of_questions << " questions" << (summary.quick ? " (--quick)" : "")
      << ", " << summary.passages << " passages each, model " << summary.model << ", seed " << summary.seed
      << ". Rates with Wilson's 95 % intervals.\n\n"
      << "| method | attack | right | attack success | judged | valid | declined |"
      << (with_costs ? " tokens computed | s, median |" : "") << "\n|---|---|---|---|---|---|---|"
      << (with_costs ? "---|---|" : "") << "\n";
  for (const AnswerCondition& each : summary.conditions) {
    out << "| " << each.method << " | " << each.attack << " | " << share_text(each.right) << " | "
        << share_text(each.attack_success) << " | " << each.attack_success.of << " | " << each.valid.count << " | "
        << each.declined.count << " |";
    if (with_costs && each.timed == 0) {
      out << " – | – |";
    } else if (with_costs) {
      out << std::fixed << std::setprecision(0) << ' ' << each.tokens << " | " << std::setprecision(1) << each.seconds
          << " |";
    }
    out << '\n';
  }
  if (summary.certified.empty()) return out.str();
  out << "\nCertified: the answer is right whatever so many malicious passages say (injection, modification), or stays "
         "as it is (live, without knowing the right answer).\n\n"
      << "| method | budget | certified | attacks tried on these | broken |\n|---|---|---|---|---|\n";
  for (const CertifiedShare& each : summary.certified) {
    out << "| " << each.method << " | " << each.budget << " | " << share_text(each.certified) << " | " << each.tested
        << " | " << each.broken << " |\n";
  }
  return out.str();
}

}  // namespace casemate
