#include "casemate/eval/run_record.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "casemate/core/file_system.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/eval/experiment.h"
#include "eval/json_lines.h"
#include "eval/report/answer_differences.h"
#include "eval/report/leakage_record.h"
#include "eval/report/run_log.h"
#include "formats/json_value.h"

namespace casemate {
namespace {

using nlohmann::json;

std::uint64_t count_of(const json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

std::optional<double> number_of(const json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

const json& list_of(const json& object, const char* field) {
  static const json kNone = json::array();
  const auto found = object.find(field);
  return found != object.end() && found->is_array() ? *found : kNone;
}

std::optional<Interval> interval_of(const json& list) {
  if (!list.is_array() || list.size() != 2 || !list[0].is_number() || !list[1].is_number()) return std::nullopt;
  return Interval{list[0].get<double>(), list[1].get<double>()};
}

/// {mean, interval, interval_kind}, or a share {count, of, rate, low, high}; nothing where it is neither.
std::optional<RunFigure> figure_of(const json& value, std::uint64_t queries) {
  if (!value.is_object()) return std::nullopt;
  RunFigure out;
  if (const auto mean = number_of(value, "mean")) {
    out.value = *mean;
    out.interval = value.contains("interval") ? interval_of(value["interval"]) : std::nullopt;
    out.of = value.contains("of") ? count_of(value, "of") : queries;
    out.is_rate = text_of(value, "interval_kind") == "Wilson";
    return out;
  }
  const auto rate = number_of(value, "rate");
  if (!rate) return std::nullopt;
  out.value = *rate;
  out.of = count_of(value, "of");
  out.is_rate = true;
  const auto low = number_of(value, "low");
  const auto high = number_of(value, "high");
  if (low && high) out.interval = Interval{*low, *high};
  return out;
}

/// The order in which the summary names its metrics, which `parse_json` does not keep.
void keep_metric_order(const std::string& content, RunRecord& run) {
  const auto ordered = nlohmann::ordered_json::parse(content, nullptr, false);
  if (!ordered.contains("conditions")) return;
  std::vector<std::string> names;
  for (const auto& condition : ordered["conditions"]) {
    const auto metrics = condition.find("metrics");
    if (metrics == condition.end() || !metrics->is_object()) continue;
    for (const auto& [name, value] : metrics->items()) names.push_back(name);
    break;
  }
  const auto place = [&names](const std::string& name) { return std::find(names.begin(), names.end(), name); };
  std::stable_sort(run.metrics.begin(), run.metrics.end(),
                   [&](const std::string& a, const std::string& b) { return place(a) < place(b); });
}

void add_name(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

RunCondition condition_of(const json& entry, RunRecord& run) {
  RunCondition out;
  out.attack = text_of(entry, "attack");
  out.defence = entry.contains("defence") ? text_of(entry, "defence") : text_of(entry, "method");
  out.log = text_of(entry, "log");
  out.queries = count_of(entry, "queries");
  out.failed = count_of(entry, "failed");
  out.planted = count_of(entry, "planted");
  // The summary's own order is kept for names that stand in an object of their own.
  const auto add = [&](const std::string& name, const json& value) {
    const auto figure = figure_of(value, out.queries);
    if (!figure) return;
    add_name(run.metrics, name);
    out.figures.emplace(name, *figure);
    if (out.queries == 0) out.queries = figure->of;
  };
  for (const char* name : {"right", "score", "attack_success", "valid", "declined"}) {
    if (entry.contains(name)) add(name, entry[name]);
  }
  if (const auto metrics = entry.find("metrics"); metrics != entry.end() && metrics->is_object()) {
    for (const auto& [name, value] : metrics->items()) add(name, value);
  }
  add_name(run.attacks, out.attack);
  add_name(run.defences, out.defence);
  return out;
}

RunDifference difference_of(const json& entry) {
  RunDifference out;
  out.metric = text_of(entry, "metric");
  out.condition = text_of(entry, "condition");
  out.against = text_of(entry, "against");
  out.result.queries = count_of(entry, "n");
  out.result.difference = number_of(entry, "difference").value_or(0);
  if (entry.contains("interval")) out.result.interval = interval_of(entry["interval"]).value_or(Interval{});
  out.result.binary = text_of(entry, "test").starts_with("McNemar");
  out.result.p = number_of(entry, "p").value_or(1);
  out.p_adjusted = number_of(entry, "p_holm").value_or(out.result.p);
  out.result.only_first = count_of(entry, "lost");
  out.result.only_second = count_of(entry, "won");
  return out;
}

/// What the summary says about the run at its top: everything that is no list.
void read_facts(const json& summary, RunRecord& run) {
  constexpr std::array kNames = {std::pair{"encoder", "encoder"},
                                 std::pair{"model", "language model"},
                                 std::pair{"generator", "generator"},
                                 std::pair{"extractor", "extractor"},
                                 std::pair{"reranker", "reranker"},
                                 std::pair{"data", "data"},
                                 std::pair{"passages", "passages"},
                                 std::pair{"questions", "questions asked"},
                                 std::pair{"of_questions", "of questions"},
                                 std::pair{"top_k", "top_k"},
                                 std::pair{"seed", "seed"},
                                 std::pair{"quick", "quick"}};
  for (const auto& [field, label] : kNames) {
    const auto found = summary.find(field);
    if (found == summary.end() || found->is_structured() || found->is_null()) continue;
    std::string text = found->is_string() ? found->get<std::string>() : found->dump();
    if (found->is_boolean()) {
      if (!found->get<bool>()) continue;
      text = "yes: a small sample, for a look";
    }
    run.facts.emplace_back(label, std::move(text));
  }
}

Status read_published(const std::string& path, RunRecord& run) {
  const auto content = read_file(path, UINT64_C(16) << 20U);
  if (!content) return content.error().code == ErrorCode::kNotFound ? Status() : Status(content.error());
  const auto parsed = parse_json(*content, 16);
  if (!parsed) return parsed.error().in(UntrustedText(path).for_log());
  for (const json& entry : list_of(*parsed, "figures")) {
    const auto value = number_of(entry, "value");
    if (!value) continue;
    run.published.push_back({text_of(entry, "attack"), text_of(entry, "defence"), text_of(entry, "metric"), *value,
                             text_of(entry, "source")});
  }
  return {};
}

/// Summaries of answers do not name their logs, whose names follow from method and attack.
void name_answer_logs(RunRecord& run) {
  for (RunCondition& each : run.conditions) {
    if (!each.log.empty()) continue;
    const auto place = [](const std::vector<std::string>& names, const std::string& name) {
      return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    };
    const Condition named{each.defence, each.attack, place(run.defences, each.defence),
                          place(run.attacks, each.attack)};
    each.log = "queries/" + named.file_name() + ".jsonl";
  }
}

}  // namespace

MetricSense metric_sense(std::string_view metric) {
  const std::string_view base = metric.substr(0, metric.find('@'));
  constexpr std::array<std::string_view, 17> kLower = {
      "disclosed", "poison-rank", "asr",           "targeted-asr", "poison-share", "attack_success",
      "eed",       "leak",        "crr",           "leakage",      "copy",         "verbatim",
      "canary",    "answer-asr",  "clean_success", "empty",        "cut_short"};
  if (std::find(kLower.begin(), kLower.end(), base) != kLower.end()) return MetricSense::kLowerIsBetter;
  if (base.starts_with("leak") || base.starts_with("crr_")) return MetricSense::kLowerIsBetter;
  return base == "declined" ? MetricSense::kNeither : MetricSense::kHigherIsBetter;
}

const RunCondition* RunRecord::find(std::string_view attack, std::string_view defence) const {
  const auto it = std::find_if(conditions.begin(), conditions.end(), [&](const RunCondition& each) {
    return each.attack == attack && each.defence == defence;
  });
  return it == conditions.end() ? nullptr : &*it;
}

Result<RunRecord> read_run_record(const std::string& folder) {
  const std::string path = join_path(folder, "summary.json");
  const std::string shown = UntrustedText(path).for_log();
  const auto content = read_file(path, UINT64_C(1) << 30U);
  if (!content) {
    if (content.error().code != ErrorCode::kNotFound) return content.error();
    return Error{ErrorCode::kNotFound,
                 shown +
                     ": there is no finished run; `casemate eval` writes it, and goes on with a run that is not "
                     "finished"};
  }
  const auto summary = parse_json(*content, 64);
  if (!summary) return summary.error().in(shown);
  const bool leakage = summary->is_object() && text_of(*summary, "kind") == "leakage";
  if (!summary->is_object() || (!leakage && list_of(*summary, "conditions").empty()))
    return Error{ErrorCode::kInvalidInput, shown + ": is no summary of a run (it has no list \"conditions\")"};
  RunRecord run;
  run.folder = folder;
  run.name = text_of(*summary, "experiment");
  run.description = text_of(*summary, "description");
  run.kind = summary->contains("certified") ? "answers" : "ranking";
  if (summary->contains("kind")) run.kind = text_of(*summary, "kind");
  if (leakage) read_leakage_conditions(*summary, run);
  if (leakage && run.name.empty()) run.name = "leakage";
  for (const json& entry : list_of(*summary, "conditions")) {
    if (!entry.is_object()) return Error{ErrorCode::kInvalidInput, shown + ": holds a condition that is no object"};
    run.conditions.push_back(condition_of(entry, run));
  }
  keep_metric_order(*content, run);
  read_facts(*summary, run);
  for (const json& entry : list_of(*summary, "comparisons")) run.differences.push_back(difference_of(entry));
  for (const json& entry : list_of(*summary, "certified")) {
    if (!entry.is_object() || !entry.contains("certified")) continue;
    run.certified.push_back({text_of(entry, "method"), text_of(entry, "budget"),
                             figure_of(entry["certified"], 0).value_or(RunFigure{}), count_of(entry, "attacks_tried"),
                             count_of(entry, "broken")});
  }
  if (run.kind == "answers") name_answer_logs(run);
  if (run.kind == "answers" && run.differences.empty()) {
    auto found = answer_differences(run);
    if (!found) return found.error();
    run.differences = *std::move(found);
  }
  if (Status read = read_published(join_path(folder, "published.json"), run); !read) return read.error();
  return run;
}

Result<std::vector<RunDifference>> compare_runs(const RunRecord& first, const RunRecord& second) {
  std::vector<RunDifference> out;
  for (const RunCondition& after : second.conditions) {
    const RunCondition* before = first.find(after.attack, after.defence);
    if (before == nullptr || before->log.empty() || after.log.empty()) continue;
    const auto a = read_run_log(join_path(first.folder, before->log));
    if (!a) return a.error();
    const auto b = read_run_log(join_path(second.folder, after.log));
    if (!b) return b.error();
    for (const std::string& metric : second.metrics) {
      const JoinedLogs joined = join_logs(values_of(*a, metric), values_of(*b, metric));
      if (joined.queries.empty()) continue;
      const auto compared = compare_paired(joined.first, joined.second);
      if (!compared) return compared.error();
      out.push_back({metric, after.name(), before->name(), *compared, 1});
    }
  }
  adjust_by_metric(out);
  return out;
}

}  // namespace casemate
