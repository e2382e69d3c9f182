#include "eval/report/costs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "casemate/core/file_system.h"
#include "casemate/core/statistics.h"
#include "eval/answer_log.h"
#include "eval/report/html.h"
#include "formats/json_value.h"

namespace casemate {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostBytes = UINT64_C(64) << 20U;

double number_in(const json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_number() ? found->get<double>() : 0.0;
}

void add_timings(const RunRecord& run, std::vector<RunCost>& out) {
  const auto content = read_file(join_path(run.folder, "timings.json"), kMostBytes);
  if (!content) return;
  const auto parsed = parse_json(*content, 8);
  if (!parsed || !parsed->is_object()) return;
  for (const RunCondition& condition : run.conditions) {
    const auto entry = parsed->find(condition.name());
    if (entry == parsed->end() || !entry->is_object()) continue;
    RunCost cost;
    cost.condition = condition.name();
    cost.queries = static_cast<std::uint64_t>(std::max(0.0, number_in(*entry, "queries")));
    cost.p50_ms = number_in(*entry, "p50_ms");
    cost.p95_ms = number_in(*entry, "p95_ms");
    cost.threads = static_cast<int>(std::clamp(number_in(*entry, "threads"), 0.0, 1e6));
    out.push_back(std::move(cost));
  }
}

/// The logs of answers and their costs have the same names in two folders.
std::string cost_file(const RunCondition& condition) {
  const std::size_t slash = condition.log.rfind('/');
  return "costs/" + condition.log.substr(slash == std::string::npos ? 0 : slash + 1);
}

void add_answer_costs(const RunRecord& run, std::vector<RunCost>& out) {
  for (const RunCondition& condition : run.conditions) {
    const std::vector<AnswerCost> costs = read_costs(join_path(run.folder, cost_file(condition)));
    if (costs.empty()) continue;
    RunCost cost;
    cost.condition = condition.name();
    cost.queries = costs.size();
    std::vector<double> milliseconds;
    double computed = 0;
    double reused = 0;
    for (const AnswerCost& each : costs) {
      milliseconds.push_back(1e3 * each.seconds);
      computed += each.decoded_tokens;
      reused += each.reused_tokens;
    }
    cost.p50_ms = percentile(milliseconds, 0.5);
    cost.p95_ms = percentile(milliseconds, 0.95);
    cost.tokens = computed / static_cast<double>(costs.size());
    cost.reused_tokens = reused / static_cast<double>(costs.size());
    out.push_back(std::move(cost));
  }
}

std::string number_cell(const std::optional<double>& value, int digits) {
  if (!value) return "<td class=\"none\">–</td>";
  return "<td>" + fixed_text(*value, digits) + "</td>";
}

}  // namespace

std::vector<RunCost> read_run_costs(const RunRecord& run) {
  std::vector<RunCost> out;
  add_timings(run, out);
  if (out.empty()) add_answer_costs(run, out);
  return out;
}

std::string costs_section(const RunRecord& run) {
  const std::vector<RunCost> costs = read_run_costs(run);
  if (costs.empty()) return {};
  const bool answers =
      std::any_of(costs.begin(), costs.end(), [](const RunCost& cost) { return cost.tokens.has_value(); });
  std::string out =
      "<p>What a query took when this was run, on whatever else the machine did then. Unlike all else here it differs "
      "from run to run.</p><div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">condition</th>"
      "<th scope=\"col\">queries</th><th scope=\"col\">ms, median</th><th scope=\"col\">ms, 95 in 100 below</th>";
  out += answers ? "<th scope=\"col\">tokens computed</th><th scope=\"col\">tokens reused</th>"
                 : "<th scope=\"col\">threads</th>";
  out += "</tr></thead><tbody>";
  for (const RunCost& cost : costs) {
    out += "<tr><th scope=\"row\">" + html_choice(cost.condition) + "</th><td>" + std::to_string(cost.queries) +
           "</td>" + number_cell(cost.p50_ms, 1) + number_cell(cost.p95_ms, 1);
    out += answers ? number_cell(cost.tokens, 0) + number_cell(cost.reused_tokens, 0)
                   : "<td>" + std::to_string(cost.threads) + "</td>";
    out += "</tr>";
  }
  return out + "</tbody></table></div>";
}

}  // namespace casemate
