#include "eval/report/run_summary.h"

#include <nlohmann/json.hpp>

#include "casemate/core/file_system.h"
#include "casemate/core/utf8.h"
#include "eval/report/run_log.h"
#include "eval/summarise.h"

namespace casemate {
namespace {

using nlohmann::ordered_json;

ordered_json condition_json(const RunRecord& run, const RunCondition& each) {
  ordered_json metrics = ordered_json::object();
  for (const std::string& name : run.metrics) {
    const auto figure = each.figures.find(name);
    if (figure == each.figures.end()) continue;
    metrics[name] = {{"mean", figure->second.value}, {"of", figure->second.of}};
    if (figure->second.interval)
      metrics[name]["interval"] = {figure->second.interval->low, figure->second.interval->high};
    metrics[name]["interval_kind"] = figure->second.is_rate ? "Wilson" : "bootstrap";
  }
  return {{"condition", to_valid_utf8(each.name())},
          {"attack", to_valid_utf8(each.attack)},
          {"defence", to_valid_utf8(each.defence)},
          {"queries", each.queries},
          {"failed", each.failed},
          {"planted", each.planted},
          {"log", each.log},
          {"metrics", std::move(metrics)}};
}

ordered_json difference_json(const RunDifference& row) {
  const Comparison& result = row.result;
  return {{"metric", row.metric},
          {"condition", to_valid_utf8(row.condition)},
          {"against", to_valid_utf8(row.against)},
          {"n", result.queries},
          {"difference", result.difference},
          {"interval", {result.interval.low, result.interval.high}},
          {"test", result.binary ? "McNemar, exact" : "paired bootstrap"},
          {"p", result.p},
          {"p_holm", row.p_adjusted},
          {"discordant", result.discordant()},
          {"lost", result.only_first},
          {"won", result.only_second}};
}

}  // namespace

Status fill_from_logs(RunRecord& run, std::span<const PlannedComparison> planned, std::uint64_t seed) {
  std::vector<std::vector<RunLogLine>> logs;
  for (RunCondition& condition : run.conditions) {
    auto log = read_run_log(join_path(run.folder, condition.log));
    if (!log) return log.error();
    condition.failed = 0;
    for (const RunLogLine& line : *log) condition.failed += line.fields.contains("error") ? 1 : 0;
    condition.queries = log->size() - condition.failed;
    for (const std::string& metric : run.metrics) {
      std::vector<double> values;
      for (const auto& [query, value] : values_of(*log, metric)) values.push_back(value);
      if (values.empty()) continue;
      const auto cell = metric_cell(values, seed);
      if (!cell) return cell.error();
      condition.figures[metric] = {cell->mean, cell->interval, values.size(), cell->is_rate};
    }
    logs.push_back(*std::move(log));
  }
  for (const PlannedComparison& plan : planned) {
    const JoinedLogs joined =
        join_logs(values_of(logs[plan.against], plan.metric), values_of(logs[plan.condition], plan.metric));
    if (joined.queries.empty()) continue;
    const auto compared = compare_paired(joined.first, joined.second, seed);
    if (!compared) return compared.error();
    run.differences.push_back(
        {plan.metric, run.conditions[plan.condition].name(), run.conditions[plan.against].name(), *compared, 1});
  }
  adjust_by_metric(run.differences);
  return {};
}

std::string run_summary_json(const RunRecord& run) {
  ordered_json out = {{"experiment", run.name}, {"kind", run.kind}, {"description", to_valid_utf8(run.description)}};
  for (const auto& [name, value] : run.facts) out[name] = to_valid_utf8(value);
  out["conditions"] = ordered_json::array();
  for (const RunCondition& each : run.conditions) out["conditions"].push_back(condition_json(run, each));
  out["comparisons"] = ordered_json::array();
  for (const RunDifference& row : run.differences) out["comparisons"].push_back(difference_json(row));
  return out.dump(1) + "\n";
}

}  // namespace casemate
