#include "eval/answer_sweeps.h"

#include <algorithm>
#include <charconv>
#include <iomanip>
#include <sstream>
#include <vector>

#include "eval/report/sweeps.h"

namespace casemate {
namespace {

void add_new(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

std::string figure(double value, double low, double high) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(2) << value << " [" << low << ", " << high << "]";
  return out.str();
}

/// The mean where there is one, else the share; "-" over no question.
std::string figure(const Share& share, const std::optional<MeanScore>& mean) {
  if (mean) return figure(mean->mean, mean->interval.low, mean->interval.high);
  const auto interval = share.interval();
  return interval ? figure(share.rate(), interval->low, interval->high) : "-";
}

std::string number(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string row(const AnswerSummary& summary, const Sweep::Value& value, const std::vector<std::string>& attacks,
                const std::vector<std::string>& budgets) {
  std::string out = "| " + number(value.at) + " |";
  for (const std::string& attack : attacks) {
    const auto at = std::find_if(summary.conditions.begin(), summary.conditions.end(),
                                 [&](const auto& each) { return each.method == value.name && each.attack == attack; });
    out += " " + (at == summary.conditions.end() ? std::string("-") : figure(at->right, at->score)) + " |";
  }
  for (const std::string& budget : budgets) {
    const auto at = std::find_if(summary.certified.begin(), summary.certified.end(),
                                 [&](const auto& each) { return each.method == value.name && each.budget == budget; });
    out += " " + (at == summary.certified.end() ? std::string("-") : figure(at->certified, at->tau)) + " |";
  }
  return out + "\n";
}

}  // namespace

std::string answer_sweep_tables(const AnswerSummary& summary) {
  std::vector<std::string> methods;
  std::vector<std::string> attacks;
  for (const AnswerCondition& each : summary.conditions) {
    add_new(methods, each.method);
    add_new(attacks, each.attack);
  }
  std::string out;
  for (const Sweep& sweep : sweeps_among(methods, false)) {
    std::vector<std::string> budgets;
    for (const CertifiedShare& each : summary.certified) {
      if (each.method == sweep.values.front().name) add_new(budgets, each.budget);
    }
    std::string head = "| " + sweep.option + " |";
    std::string rule = "|---|";
    for (const std::string& attack : attacks) head += " right, " + attack + " |";
    for (const std::string& budget : budgets) head += " certified, " + budget + " |";
    for (std::size_t i = 0; i < attacks.size() + budgets.size(); ++i) rule += "---|";
    out += "\n" + sweep.of + " by " + sweep.option + " (of long text: mean score and tau):\n\n" + head + "\n" + rule +
           "\n";
    for (const Sweep::Value& value : sweep.values) out += row(summary, value, attacks, budgets);
  }
  return out;
}

}  // namespace casemate
