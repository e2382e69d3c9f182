#include "casemate/eval/compare.h"

#include <algorithm>

#include "casemate/core/nearest_name.h"
#include "casemate/core/untrusted_text.h"
#include "eval/json_lines.h"

namespace casemate {
namespace {

bool is_binary(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return value == 0 || value == 1; });
}

std::optional<double> number_in(const nlohmann::json& record, std::string_view metric) {
  const auto found = record.find(metric);
  if (found == record.end()) return std::nullopt;
  if (found->is_boolean()) return found->get<bool>() ? 1.0 : 0.0;
  if (found->is_number()) return found->get<double>();
  return std::nullopt;
}

std::string unknown_metric(const nlohmann::json& record, std::string_view metric) {
  std::vector<std::string> known;
  const auto collect = [&known](const nlohmann::json& map) {
    for (const auto& [name, value] : map.items()) {
      if (value.is_number() || value.is_boolean()) known.push_back(name);
    }
  };
  collect(record);
  const auto inner = record.find("metrics");
  if (inner != record.end() && inner->is_object()) collect(*inner);
  return "there is no number \"" + UntrustedText(std::string(metric)).for_log() + "\"" + name_hint(metric, known);
}

}  // namespace

int bootstrap_resamples(std::size_t queries) {
  // The interval's own error falls with more resamples whatever the queries; time grows with both.
  constexpr std::size_t kDraws = 20'000'000;
  return static_cast<int>(
      std::clamp(kDraws / std::max<std::size_t>(queries, 1), std::size_t{1000}, std::size_t{10'000}));
}

Result<Comparison> compare_paired(std::span<const double> first, std::span<const double> second, std::uint64_t seed) {
  // Nothing to draw from where no query differs.
  const bool same = !first.empty() && std::equal(first.begin(), first.end(), second.begin(), second.end());
  const int resamples = same ? 100 : bootstrap_resamples(first.size());
  const auto difference = paired_bootstrap(first, second, resamples, seed);
  if (!difference) return difference.error();
  if (!*difference) return Error{ErrorCode::kInvalidArgument, "there is nothing to compare: no query is in both"};
  Comparison out;
  out.queries = first.size();
  out.difference = (*difference)->mean;
  out.interval = (*difference)->interval;
  out.p = (*difference)->p;
  for (std::size_t i = 0; i < first.size(); ++i) {
    out.first += first[i];
    out.second += second[i];
    out.only_first += first[i] > second[i] ? 1 : 0;
    out.only_second += second[i] > first[i] ? 1 : 0;
  }
  out.first /= static_cast<double>(out.queries);
  out.second /= static_cast<double>(out.queries);
  out.binary = is_binary(first) && is_binary(second);
  if (out.binary) out.p = mcnemar(out.only_first, out.only_second).exact_p;
  return out;
}

Result<PerQuery> read_per_query(const std::string& path, std::string_view metric) {
  PerQuery out;
  const Status read = each_json_line(path, [&](const nlohmann::json& record, std::size_t) -> std::string {
    const auto id = record.contains("query") ? record.find("query") : record.find("id");
    if (id == record.end() || !id->is_string()) return "field \"query\" (or \"id\") is missing or not text";
    auto value = number_in(record, metric);
    const auto inner = record.find("metrics");
    if (!value && inner != record.end() && inner->is_object()) value = number_in(*inner, metric);
    if (!value) return unknown_metric(record, metric);
    if (!out.emplace(id->get<std::string>(), *value).second)
      return "query \"" + UntrustedText(id->get<std::string>()).for_log() + "\" stands twice";
    return {};
  });
  if (!read) return read.error();
  return out;
}

JoinedLogs join_logs(const PerQuery& first, const PerQuery& second) {
  JoinedLogs out;
  for (const auto& [query, value] : first) {
    const auto other = second.find(query);
    if (other == second.end()) {
      ++out.only_in_first;
      continue;
    }
    out.queries.push_back(query);
    out.first.push_back(value);
    out.second.push_back(other->second);
  }
  out.only_in_second = second.size() - out.queries.size();
  return out;
}

}  // namespace casemate
