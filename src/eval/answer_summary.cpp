#include "eval/answer_summary.h"

#include <algorithm>
#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "casemate/certify/normal_form.h"
#include "casemate/core/file_system.h"
#include "eval/answer_sweeps.h"
#include "eval/summarise.h"

namespace casemate {
namespace {

using nlohmann::ordered_json;

void add(Share& share, bool counts) {
  ++share.of;
  share.count += counts ? 1 : 0;
}

/// Nothing over no question.
std::optional<MeanScore> mean_of(const std::vector<double>& values, std::uint64_t seed) {
  if (values.empty()) return std::nullopt;
  const auto cell = metric_cell(values, seed);
  if (!cell) return std::nullopt;  // shares are finite: it has no other error
  return MeanScore{cell->mean, cell->interval, cell->is_rate, values.size()};
}

AnswerCondition condition_of(const AnswerConditionLog& log, std::uint64_t seed) {
  AnswerCondition out;
  out.method = log.method->name;
  out.attack = log.attack->name;
  std::vector<double> scores;
  for (const AnswerOutcome& outcome : log.outcomes) {
    if (!outcome.error.empty()) continue;
    add(out.right, outcome.right);
    add(out.valid, outcome.valid);
    add(out.declined, outcome.declined);
    if (outcome.attack_success) add(out.attack_success, *outcome.attack_success);
    if (outcome.score) scores.push_back(*outcome.score);
  }
  out.score = mean_of(scores, seed);
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
  CertifiedCounter(const AnswerConditionLog& clean, std::span<const AnswerConditionLog> logs, std::uint64_t seed)
      : clean_(clean), seed_(seed) {
    for (const AnswerConditionLog& log : logs) {
      if (log.method == clean.method && log.attack->kind != AnswerAttack::Kind::kNone) attacked_.push_back(&log);
    }
  }

  CertifiedShare over_data_set(const CertifyBudget& budget) const {
    CertifiedShare out{clean_.method->name, budget.name(), {}, 0, 0, {}};
    std::vector<double> taus;
    for (std::size_t q = 0; q < clean_.outcomes.size(); ++q) {
      const AnswerOutcome& outcome = clean_.outcomes[q];
      if (!outcome.error.empty()) continue;
      const auto found = std::find_if(outcome.certificates.begin(), outcome.certificates.end(),
                                      [&](const LoggedCertificate& each) { return each.budget == budget.name(); });
      // Of a task that is right or wrong, tau is 0 or 1.
      const double tau = found != outcome.certificates.end() && found->certified ? found->tau : 0;
      if (outcome.score) taus.push_back(tau);
      add(out.certified, tau > 0);
      if (tau <= 0) continue;
      // Fewer passages are covered too, and an insertion is a kind of modification.
      test(q, budget.malicious, true, out, [&](const AnswerOutcome& attacked) { return attacked.worth() >= tau; });
    }
    out.tau = mean_of(taus, seed_);
    return out;
  }

  CertifiedShare live(int malicious) const {
    CertifiedShare out{clean_.method->name, "live " + std::to_string(malicious), {}, 0, 0, {}};
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
  std::uint64_t seed_;
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

ordered_json mean_json(const MeanScore& score) {
  return {{"mean", score.mean},
          {"interval", {score.interval.low, score.interval.high}},
          {"interval_kind", score.is_rate ? "Wilson" : "bootstrap"},
          {"of", score.of}};
}

std::string mean_text(const std::optional<MeanScore>& score) {
  if (!score) return "-";
  std::ostringstream out;
  out << std::fixed << std::setprecision(2) << score->mean << " [" << score->interval.low << ", "
      << score->interval.high << "]";
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
  for (const AnswerConditionLog& log : logs) out.conditions.push_back(condition_of(log, experiment.seed));
  for (const AnswerConditionLog& log : logs) {
    if (log.attack->kind != AnswerAttack::Kind::kNone || !log.method->aggregates()) continue;
    const CertifiedCounter counter(log, logs, experiment.seed);
    for (const CertifyBudget& budget : experiment.budgets) out.certified.push_back(counter.over_data_set(budget));
    if (!experiment.live) continue;
    for (const int malicious : {1, 2}) out.certified.push_back(counter.live(malicious));
  }
  return out;
}

Status write_answer_summary(const AnswerSummary& summary, const std::string& folder) {
  FileSystem& files = FileSystem::posix();
  if (Status kept = write_file_atomically(files, join_path(folder, "summary.json"), to_json(summary) + "\n"); !kept)
    return kept;
  if (Status kept = write_file_atomically(files, join_path(folder, "summary.csv"), to_csv(summary)); !kept) return kept;
  return write_file_atomically(files, join_path(folder, "summary.md"), to_markdown(summary));
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
    if (each.score) conditions.back()["score"] = mean_json(*each.score);
  }
  ordered_json certified = ordered_json::array();
  for (const CertifiedShare& each : summary.certified) {
    certified.push_back({{"method", each.method},
                         {"budget", each.budget},
                         {"certified", share_json(each.certified)},
                         {"attacks_tried", each.tested},
                         {"broken", each.broken}});
    if (each.tau) certified.back()["tau"] = mean_json(*each.tau);
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
  const auto mean = [&](const std::string& method, const std::string& attack, const std::string& figure,
                        const std::optional<MeanScore>& score) {
    if (!score) return;
    out << quoted(method) << ',' << quoted(attack) << ',' << quoted(figure) << ",," << score->of << ',' << score->mean
        << ',' << score->interval.low << ',' << score->interval.high << '\n';
  };
  for (const AnswerCondition& each : summary.conditions) {
    line(each.method, each.attack, "right", each.right);
    line(each.method, each.attack, "attack success", each.attack_success);
    line(each.method, each.attack, "valid", each.valid);
    line(each.method, each.attack, "declined", each.declined);
    mean(each.method, each.attack, "score", each.score);
  }
  for (const CertifiedShare& each : summary.certified) {
    line(each.method, each.budget, "certified", each.certified);
    mean(each.method, each.budget, "tau", each.tau);
  }
  return out.str();
}

std::string to_markdown(const AnswerSummary& summary, bool with_costs) {
  std::ostringstream out;
  const bool scored = std::any_of(summary.conditions.begin(), summary.conditions.end(),
                                  [](const AnswerCondition& each) { return each.score.has_value(); });
  out << "# " << summary.experiment << "\n\n"
      << summary.description << "\n\n"
      << summary.questions << " of " << summary.of_questions << " questions" << (summary.quick ? " (--quick)" : "")
      << ", " << summary.passages << " passages each, model " << summary.model << ", seed " << summary.seed
      << ". Rates with Wilson's 95 % intervals"
      << (scored ? "; score: mean share of the facts that a long text holds, bootstrap interval" : "") << ".\n\n"
      << "| method | attack | right | attack success | judged | valid | declined |" << (scored ? " score |" : "")
      << (with_costs ? " tokens computed | s, median |" : "") << "\n|---|---|---|---|---|---|---|"
      << (scored ? "---|" : "") << (with_costs ? "---|---|" : "") << "\n";
  for (const AnswerCondition& each : summary.conditions) {
    out << "| " << each.method << " | " << each.attack << " | " << share_text(each.right) << " | "
        << share_text(each.attack_success) << " | " << each.attack_success.of << " | " << each.valid.count << " | "
        << each.declined.count << " |";
    if (scored) out << ' ' << mean_text(each.score) << " |";
    if (with_costs && each.timed == 0) {
      out << " – | – |";
    } else if (with_costs) {
      out << std::fixed << std::setprecision(0) << ' ' << each.tokens << " | " << std::setprecision(1) << each.seconds
          << " |";
    }
    out << '\n';
  }
  if (summary.certified.empty()) return out.str() + answer_sweep_tables(summary);
  out << "\nCertified: the answer is right whatever so many malicious passages say (injection, modification), or stays "
         "as it is (live, without knowing the right answer).\n\n"
      << (scored ? "Of a long text: some facts are in the answer; tau is the mean of the least share of them, 0 where "
                   "nothing is certified.\n\n"
                 : "")
      << "| method | budget | certified | attacks tried on these | broken |" << (scored ? " tau |" : "")
      << "\n|---|---|---|---|---|" << (scored ? "---|" : "") << "\n";
  for (const CertifiedShare& each : summary.certified) {
    out << "| " << each.method << " | " << each.budget << " | " << share_text(each.certified) << " | " << each.tested
        << " | " << each.broken << " |" << (scored ? " " + mean_text(each.tau) + " |" : "") << "\n";
  }
  return out.str() + answer_sweep_tables(summary);
}

}  // namespace casemate
