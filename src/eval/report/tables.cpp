#include "eval/report/tables.h"

#include <algorithm>
#include <cmath>

#include "eval/report/html.h"
#include "eval/report/plots.h"

namespace casemate {
namespace {

const char* sense_text(MetricSense sense) {
  switch (sense) {
    case MetricSense::kHigherIsBetter:
      return "higher is better";
    case MetricSense::kLowerIsBetter:
      return "lower is better";
    case MetricSense::kNeither:
      return "neither high nor low is better";
  }
  return "";
}

/// The top of a metric's scale: 1 for shares.
double top_of(const RunRecord& run, const std::string& metric) {
  double top = 1;
  for (const RunCondition& condition : run.conditions) {
    const auto figure = condition.figures.find(metric);
    if (figure == condition.figures.end()) continue;
    top = std::max(top, figure->second.interval ? figure->second.interval->high : figure->second.value);
  }
  return top;
}

std::string cell(const RunCondition* condition, const std::string& metric, double top, MetricSense sense) {
  const auto figure = condition == nullptr ? decltype(condition->figures.end()){} : condition->figures.find(metric);
  if (condition == nullptr || figure == condition->figures.end()) return "<td class=\"none\">–</td>";
  const RunFigure& value = figure->second;
  const int heat = static_cast<int>(std::lround(std::clamp(value.value / top, 0.0, 1.0) * 10));
  std::string out = std::string("<td class=\"heat ") + (sense == MetricSense::kLowerIsBetter ? "bad" : "good") + " h" +
                    std::to_string(heat) + "\"><span class=\"value\">" + fixed_text(value.value) + "</span>";
  out += "<span class=\"interval\">" + interval_text(value.interval) + "</span>";
  out += interval_bar(value.value, value.interval, top);
  if (value.of != condition->queries) out += "<span class=\"note\">n " + std::to_string(value.of) + "</span>";
  if (condition->failed > 0) out += "<span class=\"note\">" + std::to_string(condition->failed) + " failed</span>";
  return out + "</td>";
}

std::string grid(const RunRecord& run, const std::string& metric, const std::string& id) {
  const MetricSense sense = metric_sense(metric);
  const double top = top_of(run, metric);
  const bool answers = run.kind == "answers";
  std::string out =
      "<figure class=\"grid\" id=\"" + html_text(id) + "\"><figcaption><b>" + html_text(metric) + "</b> " +
      html_text(metric_help(metric)) + " <span class=\"sense\">" + sense_text(sense) +
      "</span></figcaption><div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">attack</th>";
  for (const std::string& defence : run.defences) out += "<th scope=\"col\">" + html_choice(defence) + "</th>";
  out += "</tr></thead><tbody>";
  for (const std::string& attack : run.attacks) {
    std::uint64_t planted = 0;
    for (const RunCondition& each : run.conditions) planted = each.attack == attack ? each.planted : planted;
    out += "<tr><th scope=\"row\">" + html_choice(attack);
    if (planted > 0) out += "<small class=\"planted-count\">" + std::to_string(planted) + " planted</small>";
    out += "</th>";
    for (const std::string& defence : run.defences) out += cell(run.find(attack, defence), metric, top, sense);
    out += "</tr>";
  }
  out += "</tbody></table></div>";
  return out + (answers ? "<p class=\"hint\">Columns are ways to answer.</p></figure>" : "</figure>");
}

std::string signed_text(double value) { return (value > 0 ? "+" : "") + fixed_text(value, 4); }

/// From so many rows on, those that are not significant are folded away.
constexpr std::size_t kLongTable = 40;

bool is_significant(const RunDifference& row) { return row.p_adjusted < 0.05; }

std::string rows_table(const std::vector<const RunDifference*>& rows) {
  std::string out =
      "<div class=\"scroll\" tabindex=\"0\"><table "
      "class=\"differences\"><thead><tr><th>metric</th><th>condition</th><th>against</th><th>"
      "difference</th><th>95 %</th><th>n</th><th>discordant</th><th>fell / rose</th><th>p</th><th>p (Holm)</th>"
      "<th>test</th></tr></thead><tbody>";
  for (const RunDifference* each : rows) {
    const RunDifference& row = *each;
    const Comparison& result = row.result;
    const bool significant = is_significant(row);
    out += std::string("<tr") + (significant ? " class=\"significant\"" : "") + "><td>" + html_text(row.metric) +
           "</td><td>" + html_text(row.condition) + "</td><td>" + html_text(row.against) +
           "</td><td class=\"number\">" + signed_text(result.difference) + "</td><td class=\"number\">" +
           interval_text(result.interval, 4) + "</td><td class=\"number\">" + std::to_string(result.queries) +
           "</td><td class=\"number\">" + std::to_string(result.discordant()) + "</td><td class=\"number\">" +
           std::to_string(result.only_first) + " / " + std::to_string(result.only_second) +
           "</td><td class=\"number\">" + p_value_text(result.p) + "</td><td class=\"number\">" +
           p_value_text(row.p_adjusted) + (significant ? " *" : "") + "</td><td>" +
           (result.binary ? "McNemar" : "bootstrap") + "</td></tr>";
  }
  return out + "</tbody></table></div>";
}

}  // namespace

std::string facts_section(const RunRecord& run) {
  std::string out = "<dl class=\"facts\">";
  for (const auto& [name, value] : run.facts)
    out += "<div><dt>" + html_text(name) + "</dt><dd>" + html_text(value) + "</dd></div>";
  out += "<div><dt>conditions</dt><dd>" + std::to_string(run.conditions.size()) + " (" +
         std::to_string(run.attacks.size()) + " attacks × " + std::to_string(run.defences.size()) +
         (run.kind == "answers" ? " methods" : " defences") + ")</dd></div>";
  return out + "</dl>";
}

std::string grid_section(const RunRecord& run, const std::string& prefix) {
  std::string out;
  if (run.kind == "leakage")
    out =
        "<p class=\"hint\">Figures of leakage are those of the worst instruction, with the interval of that one: the "
        "worst of several is somewhat high by chance alone.</p>";
  for (std::size_t m = 0; m < run.metrics.size(); ++m)
    out += grid(run, run.metrics[m], prefix + "grid-" + std::to_string(m));
  return out;
}

std::string certified_section(const RunRecord& run) {
  if (run.certified.empty()) return {};
  std::string out =
      "<p>Certified: the answer is right whatever so many malicious passages say (injection, modification), or stays "
      "as "
      "it is (live, without knowing the right answer). <i>Broken</i> counts certified questions where an attack within "
      "the budget changed the answer: it must be 0.</p><div class=\"scroll\" "
      "tabindex=\"0\"><table><thead><tr><th>method</th>"
      "<th>budget</th><th>certified</th><th>95 %</th><th>n</th><th>attacks "
      "tried</th><th>broken</th></tr></thead><tbody>";
  for (const RunCertified& each : run.certified) {
    out += "<tr><th scope=\"row\">" + html_choice(each.method) + "</th><td>" + html_text(each.budget) +
           "</td><td class=\"number\">" + fixed_text(each.share.value) + "</td><td class=\"number\">" +
           interval_text(each.share.interval) + "</td><td class=\"number\">" + std::to_string(each.share.of) +
           "</td><td class=\"number\">" + std::to_string(each.tried) + "</td><td class=\"number" +
           (each.broken > 0 ? " alarm" : "") + "\">" + std::to_string(each.broken) + "</td></tr>";
  }
  return out + "</tbody></table></div>";
}

std::string published_section(const RunRecord& run) {
  if (run.published.empty()) return {};
  std::string out =
      "<p class=\"warning\">The papers' figures are of <b>other models and another corpus</b>: compare the pattern, "
      "not "
      "the value.</p><div class=\"scroll\" "
      "tabindex=\"0\"><table><thead><tr><th>attack</th><th>defence</th><th>metric</th><th>here</th>"
      "<th>95 %</th><th>paper</th><th>which</th></tr></thead><tbody>";
  for (const PublishedFigure& each : run.published) {
    const RunCondition* condition = run.find(each.attack, each.defence);
    const auto figure =
        condition == nullptr ? decltype(condition->figures.end()){} : condition->figures.find(each.metric);
    const bool measured = condition != nullptr && figure != condition->figures.end();
    out += "<tr><th scope=\"row\">" + html_choice(each.attack) + "</th><td>" + html_choice(each.defence) + "</td><td>" +
           html_text(each.metric) + "</td><td class=\"number\">" +
           (measured ? fixed_text(figure->second.value) : std::string("–")) + "</td><td class=\"number\">" +
           (measured ? interval_text(figure->second.interval) : std::string()) + "</td><td class=\"number paper\">" +
           fixed_text(each.value) + "</td><td>" + html_text(each.source) + "</td></tr>";
  }
  return out + "</tbody></table></div>";
}

std::string difference_table(const std::vector<RunDifference>& rows) {
  if (rows.empty()) return {};
  std::vector<const RunDifference*> shown;
  std::vector<const RunDifference*> folded;
  for (const RunDifference& row : rows)
    (rows.size() <= kLongTable || is_significant(row) ? shown : folded).push_back(&row);
  std::string out = shown.empty() ? std::string("<p>None holds after Holm.</p>") : rows_table(shown);
  if (!folded.empty()) {
    out += "<details><summary>" + std::to_string(folded.size()) + " differences that are not significant</summary>" +
           rows_table(folded) + "</details>";
  }
  return out +
         "<p class=\"hint\">* p below 0.05 after Holm, adjusted per metric: over the rows of that metric, not over all "
         "metrics together. McNemar: exact, two-sided; "
         "bootstrap: "
         "paired, of the mean difference. Fell and rose count the discordant pairs.</p>";
}

}  // namespace casemate
