#include "eval/report/answer_differences.h"

#include <map>

#include "casemate/core/file_system.h"
#include "eval/report/run_log.h"

namespace casemate {
namespace {

/// The undefended method with the same task.
std::string baseline_of(const std::string& method) {
  const bool choice = method.starts_with("voting") || method.find("multiple-choice") != std::string::npos;
  return choice ? "vanilla{task: multiple-choice}" : "vanilla";
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
    const RunCondition* undefended = run.find(each.attack, baseline_of(each.defence));
    if (each.attack != "none") {
      if (Status done = add(logs, each, run.find("none", each.defence), "right", out); !done) return done.error();
      if (Status done = add(logs, each, undefended, "attack_success", out); !done) return done.error();
    }
    if (Status done = add(logs, each, undefended, "right", out); !done) return done.error();
  }
  adjust_by_metric(out);
  return out;
}

}  // namespace casemate
