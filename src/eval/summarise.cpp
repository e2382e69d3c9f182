#include "eval/summarise.h"

#include <algorithm>
#include <mutex>
#include <optional>

namespace casemate {
namespace {

std::optional<std::size_t> find_condition(const EvalSummary& summary, std::string_view attack,
                                          std::string_view defence) {
  for (std::size_t i = 0; i < summary.conditions.size(); ++i) {
    const Condition& each = summary.conditions[i].condition;
    if (each.attack == attack && each.defence == defence) return i;
  }
  return std::nullopt;
}

std::vector<ComparisonRow> planned(const EvalSummary& summary) {
  std::vector<ComparisonRow> rows;
  const auto clean = find_condition(summary, "none", "none");
  for (std::size_t m = 0; m < summary.metrics.size(); ++m) {
    for (std::size_t c = 0; c < summary.conditions.size(); ++c) {
      const Condition& condition = summary.conditions[c].condition;
      const auto add = [&](std::optional<std::size_t> against) {
        if (!against || *against == c) return;
        ComparisonRow row;
        row.metric = m;
        row.condition = c;
        row.against = *against;
        rows.push_back(row);
      };
      const auto undefended = find_condition(summary, condition.attack, "none");
      if (!is_about_poison(summary.metrics[m].measure)) add(clean);
      if (condition.attack != "none") add(undefended);
    }
  }
  return rows;
}

/// The same queries of both, also where some failed in one.
Result<Comparison> compare(const LoggedValues& first, const LoggedValues& second, std::size_t metric,
                           std::uint64_t seed) {
  if (first.queries == second.queries) return compare_paired(first.values[metric], second.values[metric], seed);
  const auto by_query = [metric](const LoggedValues& log) {
    PerQuery out;
    for (std::size_t i = 0; i < log.queries.size(); ++i) out.emplace(log.queries[i], log.values[metric][i]);
    return out;
  };
  const JoinedLogs joined = join_logs(by_query(first), by_query(second));
  return compare_paired(joined.first, joined.second, seed);
}

}  // namespace

Result<MetricCell> metric_cell(const std::vector<double>& values, std::uint64_t seed) {
  MetricCell cell;
  cell.is_rate = std::all_of(values.begin(), values.end(), [](double value) { return value == 0 || value == 1; });
  if (cell.is_rate) {
    const auto ones = static_cast<std::uint64_t>(std::count(values.begin(), values.end(), 1.0));
    cell.mean = static_cast<double>(ones) / static_cast<double>(values.size());
    cell.interval = *wilson_interval(ones, values.size());
    return cell;
  }
  // Against nothing at all: the interval of the mean itself.
  const std::vector<double> zeros(values.size(), 0.0);
  const auto found = paired_bootstrap(zeros, values, bootstrap_resamples(values.size()), seed);
  if (!found) return found.error();
  cell.mean = (*found)->mean;
  cell.interval = (*found)->interval;
  return cell;
}

Status summarise(EvalSummary& summary, std::span<const LoggedValues> logs, const ThreadPool& pool) {
  const std::size_t metrics = summary.metrics.size();
  std::vector<ComparisonRow> rows = planned(summary);
  std::erase_if(rows, [&logs](const ComparisonRow& row) {
    return logs[row.condition].queries.empty() || logs[row.against].queries.empty();
  });
  for (std::size_t c = 0; c < logs.size(); ++c) {
    summary.conditions[c].queries = logs[c].queries.size();
    summary.conditions[c].failed = logs[c].failed;
    if (!logs[c].queries.empty()) summary.conditions[c].cells.resize(metrics);
  }
  const std::size_t cells = logs.size() * metrics;
  std::mutex mutex;
  std::optional<Error> failure;
  pool.parallel_for(cells + rows.size(), [&](std::size_t i, int) {
    std::optional<Error> error;
    if (i < cells) {
      const LoggedValues& log = logs[i / metrics];
      if (log.queries.empty()) return;
      const auto cell = metric_cell(log.values[i % metrics], summary.seed);
      if (cell) summary.conditions[i / metrics].cells[i % metrics] = *cell;
      if (!cell) error = cell.error();
    } else {
      ComparisonRow& row = rows[i - cells];
      const auto compared = compare(logs[row.against], logs[row.condition], row.metric, summary.seed);
      if (compared) row.result = *compared;
      if (!compared) error = compared.error();
    }
    if (error) {
      const std::lock_guard lock(mutex);
      failure = error;
    }
  });
  if (failure) return *failure;
  for (std::size_t m = 0; m < metrics; ++m) {
    std::vector<double> p;
    for (const ComparisonRow& row : rows) {
      if (row.metric == m) p.push_back(row.result.p);
    }
    const std::vector<double> adjusted = holm(p);
    std::size_t at = 0;
    for (ComparisonRow& row : rows) {
      if (row.metric == m) row.p_holm = adjusted[at++];
    }
  }
  summary.comparisons = std::move(rows);
  return {};
}

}  // namespace casemate
