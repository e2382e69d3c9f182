#include "eval/report/leakage_record.h"

#include <algorithm>
#include <array>

#include "eval/json_lines.h"

namespace casemate {
namespace {

using nlohmann::json;

void add_name(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/// {low, high, interval_kind} under the field's name.
void read_interval(const json& intervals, const std::string& field, RunFigure& figure) {
  const auto found = intervals.find(field);
  if (found == intervals.end() || !found->is_object()) return;
  const auto low = found->find("low");
  const auto high = found->find("high");
  if (low == found->end() || high == found->end() || !low->is_number() || !high->is_number()) return;
  figure.interval = Interval{low->get<double>(), high->get<double>()};
  figure.is_rate = text_of(*found, "interval_kind") == "Wilson";
}

template <std::size_t N>
void add(const json& row, const std::string& attack, const std::array<const char*, N>& fields,
         const std::string& prefix, RunRecord& run) {
  if (!row.is_object()) return;
  RunCondition condition;
  condition.attack = attack;
  const auto mode = row.find("mode");
  if (mode == row.end() || !mode->is_string()) return;
  condition.defence = mode->get<std::string>();
  const auto questions = row.find("questions");
  if (questions != row.end() && questions->is_number_unsigned()) condition.queries = questions->get<std::uint64_t>();
  const auto failed = row.find("failed");
  if (failed != row.end() && failed->is_number_unsigned()) condition.failed = failed->get<std::uint64_t>();
  const auto intervals = row.find("intervals");
  // A figure that is null was measured and shows nothing: the metric is there, the figure is not.
  const auto put = [&](const std::string& name, const std::string& field, const json& value) {
    if (!value.is_number() && !value.is_null()) return;
    add_name(run.metrics, name);
    if (!value.is_number()) return;
    RunFigure figure{value.get<double>(), std::nullopt, condition.queries, false};
    if (intervals != row.end() && intervals->is_object()) read_interval(*intervals, field, figure);
    condition.figures[name] = figure;
  };
  for (const char* field : fields) {
    if (const auto value = row.find(field); value != row.end()) put(prefix + field, field, *value);
  }
  const auto thresholds = row.find("crr_thresholds");
  for (const char* field : {"crr_eed", "crr_lcs"}) {
    const auto values = row.find(field);
    if (thresholds == row.end() || !thresholds->is_array() || values == row.end() || !values->is_array()) continue;
    for (std::size_t i = 0; i < std::min(thresholds->size(), values->size()); ++i) {
      const std::string name = std::string(field) + "@" + (*thresholds)[i].dump();
      if ((*thresholds)[i].is_number()) put(name, name, (*values)[i]);
    }
  }
  add_name(run.attacks, condition.attack);
  add_name(run.defences, condition.defence);
  run.conditions.push_back(std::move(condition));
}

}  // namespace

void read_leakage_conditions(const json& summary, RunRecord& run) {
  constexpr std::array kUtility = {"contains", "exact_match", "f1", "bleu1", "rouge_l"};
  constexpr std::array kLeakage = {"eed", "rouge_l", "f1", "bleu1", "ss", "withheld"};
  const auto rows = [&summary](const char* field) {
    const auto found = summary.find(field);
    return found != summary.end() && found->is_array() ? *found : json::array();
  };
  for (const json& row : rows("utility")) add(row, "none", kUtility, "", run);
  for (const json& row : rows("leakage")) {
    const auto which = row.is_object() ? row.find("case") : row.end();
    if (which != row.end() && which->is_string()) add(row, which->get<std::string>(), kLeakage, "leak_", run);
  }
}

}  // namespace casemate
