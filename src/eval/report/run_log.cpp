#include "eval/report/run_log.h"

#include "casemate/core/statistics.h"
#include "eval/json_lines.h"

namespace casemate {
namespace {

std::optional<double> number(const nlohmann::json& object, std::string_view field) {
  const auto found = object.find(field);
  if (found == object.end()) return std::nullopt;
  if (found->is_boolean()) return found->get<bool>() ? 1.0 : 0.0;
  return found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

}  // namespace

std::optional<double> RunLogLine::value(std::string_view metric) const {
  const auto inside = fields.find("metrics");
  if (inside != fields.end() && inside->is_object()) {
    if (const auto found = number(*inside, metric)) return found;
  }
  return number(fields, metric);
}

Result<std::vector<RunLogLine>> read_run_log(const std::string& path) {
  std::vector<RunLogLine> out;
  const Status read = each_json_line(path, [&](const nlohmann::json& line, std::size_t) -> std::string {
    const auto query = line.find("query");
    if (query == line.end() || !query->is_string()) return "is no line of a per-query log (it has no \"query\")";
    out.push_back({query->get<std::string>(), line});
    return {};
  });
  if (!read) return read.error();
  return out;
}

PerQuery values_of(const std::vector<RunLogLine>& log, std::string_view metric) {
  PerQuery out;
  for (const RunLogLine& line : log) {
    if (const auto value = line.value(metric)) out.emplace(line.query, *value);
  }
  return out;
}

void adjust_by_metric(std::vector<RunDifference>& rows) {
  std::map<std::string, std::vector<std::size_t>> by_metric;
  for (std::size_t i = 0; i < rows.size(); ++i) by_metric[rows[i].metric].push_back(i);
  for (const auto& [metric, places] : by_metric) {
    std::vector<double> p;
    for (const std::size_t i : places) p.push_back(rows[i].result.p);
    const std::vector<double> adjusted = holm(p);
    for (std::size_t k = 0; k < places.size(); ++k) rows[places[k]].p_adjusted = adjusted[k];
  }
}

}  // namespace casemate
