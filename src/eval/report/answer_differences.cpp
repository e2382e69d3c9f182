#include "eval/report/answer_differences.h"

#include <map>

#include "casemate/core/file_system.h"
#include "eval/report/run_log.h"

namespace casemate {
namespace {

std::string_view task_of(const std::string& method) {
  if (method.starts_with("voting")) return "multiple-choice";
  for (const std::string_view task : {"multiple-choice", "long-text"}) {
    if (method.find(task) != std::string::npos) return task;
  }
  return "short-answer";
}

/// The first undefended method with the same task, under the same attack; null where there is none.
const RunCondition* baseline_of(const RunRecord& run, const RunCondition& condition) {
  for (const RunCondition& each : run.conditions) {
    if (each.attack == condition.attack && each.defence.starts_with("vanilla") &&
        task_of(each.defence) == task_of(condition.defence))
      return &each;
  }
  return nullptr;
}

class Logs {
 public:
  explicit Logs(const RunRecord& run) : run_(run) {}

  /// Null where the run has no such log: it may have been moved without its logs.
  Result<const std::vector<RunLogLine>*> of(const RunCondition& condition) {
    const auto known = read_.find(condition.log);
    if (known != read_.end()) return &known->second;
    auto lines = read_run_log(join_path(run_.folder, condition.log));
    if (!lines) {
      if (lines.error().code != ErrorCode::kNotFound) return lines.error();
      return static_cast<const std::vector<RunLogLine>*>(nullptr);
    }
    return &read_.emplace(condition.log, *std::move(lines)).first->second;
  }

 private:
  const RunRecord& run_;
  std::map<std::string, std::vector<RunLogLine>> read_;
};

Status add(Logs& logs, const RunCondition& condition, const RunCondition* against, const std::string& metric,
           std::vector<RunDifference>& out) {
  if (against == nullptr || against == &condition) return {};
  const auto before = logs.of(*against);
  if (!before) return before.error();
  const auto after = logs.of(condition);
  if (!after) return after.error();
  if (*before == nullptr || *after == nullptr) return {};
  const JoinedLogs joined = join_logs(values_of(**before, metric), values_of(**after, metric));
  if (joined.queries.empty()) return {};
  const auto compared = compare_paired(joined.first, joined.second);
  if (!compared) return compared.error();
  out.push_back({metric, condition.name(), against->name(), *compared, 1});
  return {};
}

}  // namespace

Result<std::vector<RunDifference>> answer_differences(const RunRecord& run) {
  std::vector<RunDifference> out;
  Logs logs(run);
  for (const RunCondition& each : run.conditions) {
    const RunCondition* undefended = baseline_of(run, each);
    if (each.attack != "none") {
      if (Status done = add(logs, each, run.find("none", each.defence), "right", out); !done) return done.error();
      if (Status done = add(logs, each, undefended, "attack_success", out); !done) return done.error();
    }
    for (const char* metric : {"right", "score"}) {
      if (Status done = add(logs, each, undefended, metric, out); !done) return done.error();
    }
  }
  adjust_by_metric(out);
  return out;
}

}  // namespace casemate
