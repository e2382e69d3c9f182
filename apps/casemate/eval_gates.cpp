#include "eval_gates.h"

#include <string>
#include <vector>

#include "casemate/eval/reading_experiment.h"

namespace casemate::cli {

Status check_gates(const RunOutputs& outputs, const Experiment& experiment) {
  const auto gates = parse_gates(outputs);
  if (!gates) return gates.error();
  std::vector<std::string> metrics;
  std::vector<std::string> defences;
  if (experiment.methods.empty()) {
    for (const EvalMetric metric : experiment.metrics) metrics.push_back(eval_metric_name(metric));
    for (const Condition& condition : experiment.conditions()) defences.push_back(condition.defence);
  } else {
    metrics = reading_metrics(experiment);
    for (const Condition& condition : experiment.conditions()) {
      for (const std::string& method : experiment.methods) defences.push_back(condition.defence + " | " + method);
    }
  }
  return check_gate_names(*gates, metrics, experiment.attacks, defences);
}

Status check_gates(const RunOutputs& outputs, const AnswerExperiment& experiment) {
  const auto gates = parse_gates(outputs);
  if (!gates) return gates.error();
  std::vector<std::string> metrics = {"right", "attack_success", "valid", "declined"};
  std::vector<std::string> methods;
  bool long_text = false;
  for (const AnswerMethod& method : experiment.methods) {
    methods.push_back(method.name);
    long_text = long_text || method.task == AnswerTask::kLongText;
  }
  if (long_text) metrics.emplace_back("score");
  std::vector<std::string> attacks;
  for (const AnswerAttack& attack : experiment.attacks) attacks.push_back(attack.name);
  return check_gate_names(*gates, metrics, attacks, methods);
}

Status check_gates(const RunOutputs& outputs, const LeakageExperiment& experiment) {
  const auto gates = parse_gates(outputs);
  if (!gates) return gates.error();
  std::vector<std::string> attacks;
  for (const LeakCase which : experiment.cases)
    attacks.emplace_back(which == LeakCase::kClean ? "none" : leak_case_name(which));
  std::vector<std::string> modes;
  for (const SanitizerChoice& mode : experiment.modes) modes.push_back(leakage_mode_name(mode));
  return check_gate_names(*gates, leakage_metrics(experiment), attacks, modes);
}

}  // namespace casemate::cli
