#include "casemate/eval/summary.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "casemate/core/utf8.h"
#include "eval/paraphrase_figures.h"
#include "eval/sweep_table.h"

namespace casemate {
namespace {

using nlohmann::ordered_json;

std::string fixed(double value, int digits) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
  return buffer;
}

/// p values: three digits, small ones as a bound.
std::string p_text(double p) { return p < 0.0001 ? "< 0.0001" : fixed(p, 4); }

std::string exact(double value) { return ordered_json(value).dump(); }

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

ordered_json paraphrases_json(const ParaphraseFigures& figures) {
  const auto rewards = [](const ParaphraseRewards& each) {
    return ordered_json{{"semantic", each.semantic}, {"retrieval", each.retrieval}, {"copying", each.copying}};
  };
  ordered_json out = {{"documents", figures.documents},
                      {"admitted", figures.admitted},
                      {"found", figures.found},
                      {"judge", to_valid_utf8(figures.judge)},
                      {"rewards_before", rewards(figures.before)},
                      {"rewards_after", rewards(figures.after)}};
  if (const auto interval = wilson_interval(figures.found, figures.admitted); interval) {
    out["success"] = static_cast<double>(figures.found) / static_cast<double>(figures.admitted);
    out["interval"] = {interval->low, interval->high};
  }
  return out;
}

const char* test_name(const Comparison& result) { return result.binary ? "McNemar, exact" : "paired bootstrap"; }

ordered_json condition_json(const EvalSummary& summary, const ConditionSummary& each) {
  ordered_json metrics = ordered_json::object();
  for (std::size_t m = 0; m < each.cells.size(); ++m) {
    const MetricCell& cell = each.cells[m];
    metrics[eval_metric_name(summary.metrics[m])] = {{"mean", cell.mean},
                                                     {"interval", {cell.interval.low, cell.interval.high}},
                                                     {"interval_kind", cell.is_rate ? "Wilson" : "bootstrap"}};
  }
  ordered_json out = {{"condition", each.condition.name()},
                      {"attack", each.condition.attack},
                      {"defence", each.condition.defence},
                      {"queries", each.queries},
                      {"failed", each.failed},
                      {"planted", each.planted},
                      {"fell_back", each.fell_back}};
  if (each.similarity) out["planted_similarity"] = *each.similarity;
  if (each.paraphrases) out["paraphrases"] = paraphrases_json(*each.paraphrases);
  out.update({{"log", "queries/" + each.condition.file_name() + ".jsonl"}, {"metrics", std::move(metrics)}});
  return out;
}

ordered_json comparison_json(const EvalSummary& summary, const ComparisonRow& row) {
  const Comparison& result = row.result;
  return {{"metric", eval_metric_name(summary.metrics[row.metric])},
          {"condition", summary.conditions[row.condition].condition.name()},
          {"against", summary.conditions[row.against].condition.name()},
          {"n", result.queries},
          {"difference", result.difference},
          {"interval", {result.interval.low, result.interval.high}},
          {"test", test_name(result)},
          {"p", result.p},
          {"p_holm", row.p_holm},
          {"discordant", result.discordant()},
          {"lost", result.only_first},
          {"won", result.only_second}};
}

std::string cell_text(const MetricCell& cell) {
  return fixed(cell.mean, 4) + " [" + fixed(cell.interval.low, 4) + ", " + fixed(cell.interval.high, 4) + "]";
}

}  // namespace

std::string to_json(const EvalSummary& summary) {
  ordered_json conditions = ordered_json::array();
  for (const ConditionSummary& each : summary.conditions) conditions.push_back(condition_json(summary, each));
  ordered_json comparisons = ordered_json::array();
  for (const ComparisonRow& row : summary.comparisons) comparisons.push_back(comparison_json(summary, row));
  return ordered_json{{"experiment", summary.experiment},
                      {"description", to_valid_utf8(summary.description)},
                      {"encoder", to_valid_utf8(summary.encoder)},
                      {"seed", summary.seed},
                      {"quick", summary.quick},
                      {"passages", summary.passages},
                      {"questions", summary.questions},
                      {"of_questions", summary.of_questions},
                      {"top_k", summary.top_k},
                      {"conditions", std::move(conditions)},
                      {"comparisons", std::move(comparisons)}}
      .dump(1);
}

std::string to_csv(const EvalSummary& summary) {
  std::string out = "attack,defence,queries,failed,planted,fell_back,metric,mean,low,high,interval\n";
  for (const ConditionSummary& each : summary.conditions) {
    for (std::size_t m = 0; m < each.cells.size(); ++m) {
      const MetricCell& cell = each.cells[m];
      out += csv_field(each.condition.attack) + "," + csv_field(each.condition.defence) + "," +
             std::to_string(each.queries) + "," + std::to_string(each.failed) + "," + std::to_string(each.planted) +
             "," + std::to_string(each.fell_back) + "," + eval_metric_name(summary.metrics[m]) + "," +
             exact(cell.mean) + "," + exact(cell.interval.low) + "," + exact(cell.interval.high) + "," +
             (cell.is_rate ? "Wilson" : "bootstrap") + "\n";
    }
  }
  return out;
}

std::string to_markdown(const EvalSummary& summary) {
  std::string out = "# " + summary.experiment + "\n";
  if (!summary.description.empty()) out += to_valid_utf8(summary.description) + "\n";
  out += "\n" + std::to_string(summary.passages) + " passages, " + std::to_string(summary.questions) + " of " +
         std::to_string(summary.of_questions) + " questions, encoder " + to_valid_utf8(summary.encoder) + ", top_k " +
         std::to_string(summary.top_k) + ", seed " + std::to_string(summary.seed) + (summary.quick ? ", quick" : "") +
         ". Brackets: 95 % intervals (Wilson for rates, bootstrap for means).\n\n";
  out += "| attack | defence | planted |";
  std::string rule = "|---|---|---|";
  for (const EvalMetric metric : summary.metrics) {
    out += " " + eval_metric_name(metric) + " |";
    rule += "---|";
  }
  out += "\n" + rule + "\n";
  for (const ConditionSummary& each : summary.conditions) {
    out += "| " + each.condition.attack + " | " + each.condition.defence + " | " + std::to_string(each.planted);
    if (each.fell_back > 0) out += " (" + std::to_string(each.fell_back) + " plain copies)";
    out += " |";
    for (const MetricCell& cell : each.cells) out += " " + cell_text(cell) + " |";
    if (each.failed > 0) out += " " + std::to_string(each.failed) + " queries failed";
    out += "\n";
  }
  out += iteration_tables(summary);
  out += paraphrase_table(summary);
  if (summary.comparisons.empty()) return out;
  out +=
      "\nDifferences are condition less what it is compared with, over the same queries. Lost and won: queries that "
      "got "
      "worse and better; their sum is the number of discordant pairs. Rates are tested by McNemar's exact test, means "
      "by the paired bootstrap; p is adjusted by Holm over each metric's rows.\n\n";
  out +=
      "| metric | condition | against | difference | 95 % | lost | won | p | p (Holm) "
      "|\n|---|---|---|---|---|---|---|---|---|\n";
  for (const ComparisonRow& row : summary.comparisons) {
    const Comparison& result = row.result;
    out += "| " + eval_metric_name(summary.metrics[row.metric]) + " | " +
           summary.conditions[row.condition].condition.name() + " | " +
           summary.conditions[row.against].condition.name() + " | " + fixed(result.difference, 4) + " | [" +
           fixed(result.interval.low, 4) + ", " + fixed(result.interval.high, 4) + "] | " +
           std::to_string(result.only_first) + " | " + std::to_string(result.only_second) + " | " + p_text(result.p) +
           " | " + p_text(row.p_holm) + " |\n";
  }
  return out;
}

}  // namespace casemate
