#include "eval/sweep_table.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <optional>

namespace casemate {
namespace {

constexpr std::string_view kField = "iterations:";

/// An attack as written, without its number of iterations, and that number.
struct Sweep {
  std::string rest;
  int iterations = 0;
};

std::optional<Sweep> sweep_of(const std::string& attack) {
  const std::size_t field = attack.find(kField);
  if (field == std::string::npos) return std::nullopt;
  std::size_t begin = field + kField.size();
  while (begin < attack.size() && attack[begin] == ' ') ++begin;
  int value = 0;
  const auto [end, error] = std::from_chars(attack.data() + begin, attack.data() + attack.size(), value);
  if (error != std::errc()) return std::nullopt;
  std::size_t after = static_cast<std::size_t>(end - attack.data());
  std::size_t before = field;
  // The comma that set it off goes too.
  if (after < attack.size() && attack[after] == ',') {
    ++after;
    while (after < attack.size() && attack[after] == ' ') ++after;
  } else {
    while (before > 0 && (attack[before - 1] == ' ' || attack[before - 1] == ',')) --before;
  }
  std::string rest = attack.substr(0, before) + attack.substr(after);
  if (rest.ends_with("{}")) rest.resize(rest.size() - 2);
  return Sweep{std::move(rest), value};
}

std::string text_of(const char* format, double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

using Columns = std::map<int, std::vector<const ConditionSummary*>>;

std::string table_of(const std::string& attack, const Columns& columns, std::size_t metric, std::string_view name) {
  std::string out = "\n" + std::string(name) + " of " + attack + " by iterations, % [95 % Wilson]:\n\n| defence |";
  std::string rule = "|---|";
  for (const auto& [iterations, conditions] : columns) {
    out += " " + std::to_string(iterations) + " |";
    rule += "---|";
  }
  out += "\n" + rule + "\n";
  const auto& first = columns.begin()->second;
  for (const ConditionSummary* row : first) {
    out += "| " + row->condition.defence + " |";
    for (const auto& [iterations, conditions] : columns) {
      const auto it = std::find_if(conditions.begin(), conditions.end(), [row](const ConditionSummary* each) {
        return each->condition.defence == row->condition.defence;
      });
      if (it == conditions.end() || metric >= (*it)->cells.size()) {
        out += " |";
        continue;
      }
      const MetricCell& cell = (*it)->cells[metric];
      out += " " + text_of("%.0f", 100 * cell.mean) + " [" + text_of("%.0f", 100 * cell.interval.low) + ", " +
             text_of("%.0f", 100 * cell.interval.high) + "] |";
    }
    out += "\n";
  }
  out += "| mean similarity of planted documents |";
  for (const auto& [iterations, conditions] : columns) {
    const auto& similarity = conditions.front()->similarity;
    out += similarity ? " " + text_of("%.3f", *similarity) + " |" : " |";
  }
  return out + "\n";
}

}  // namespace

std::string iteration_tables(const EvalSummary& summary) {
  std::vector<std::pair<std::string, Columns>> sweeps;  // in the experiment's order
  for (const ConditionSummary& each : summary.conditions) {
    const auto sweep = sweep_of(each.condition.attack);
    if (!sweep) continue;
    auto it = std::find_if(sweeps.begin(), sweeps.end(), [&](const auto& known) { return known.first == sweep->rest; });
    if (it == sweeps.end()) it = sweeps.insert(sweeps.end(), {sweep->rest, {}});
    it->second[sweep->iterations].push_back(&each);
  }
  std::string out;
  for (const auto& [attack, columns] : sweeps) {
    if (columns.size() < 2) continue;
    for (std::size_t m = 0; m < summary.metrics.size(); ++m) {
      const EvalMeasure measure = summary.metrics[m].measure;
      if (measure != EvalMeasure::kAsr && measure != EvalMeasure::kTargetedAsr) continue;
      out += table_of(attack, columns, m, eval_metric_name(summary.metrics[m]));
    }
  }
  return out;
}

}  // namespace casemate
