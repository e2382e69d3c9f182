#include <algorithm>

#include "eval/report/html.h"
#include "eval/report/plots.h"
#include "eval/report/sweeps.h"
#include "eval/report/tables.h"

namespace casemate {
namespace {

const RunFigure* figure_of(const RunCondition* condition, const std::string& metric) {
  if (condition == nullptr) return nullptr;
  const auto found = condition->figures.find(metric);
  return found == condition->figures.end() ? nullptr : &found->second;
}

/// A defence's place: its clean utility, and how well it does under the attack that is worst for it.
std::vector<PlotPoint> points_of(const RunRecord& run, const std::string& utility, const std::string& under_attack) {
  const bool lower = metric_sense(under_attack) == MetricSense::kLowerIsBetter;
  std::vector<PlotPoint> out;
  for (const std::string& defence : run.defences) {
    const RunFigure* clean = figure_of(run.find("none", defence), utility);
    if (clean == nullptr) continue;
    PlotPoint point{defence, clean->value, 0, clean->interval, std::nullopt};
    bool any = false;
    for (const std::string& attack : run.attacks) {
      const RunFigure* figure = attack == "none" ? nullptr : figure_of(run.find(attack, defence), under_attack);
      if (figure == nullptr) continue;
      const double good = lower ? 1 - figure->value : figure->value;
      if (any && good >= point.y) continue;
      any = true;
      point.y = good;
      point.y_interval = figure->interval;
      if (lower && figure->interval) point.y_interval = Interval{1 - figure->interval->high, 1 - figure->interval->low};
    }
    if (any) out.push_back(std::move(point));
  }
  return out;
}

std::string point_table(const std::vector<PlotPoint>& points, const std::string& x, const std::string& y) {
  const std::vector<bool> front = pareto_front(points);
  std::string out =
      "<div class=\"scroll\" tabindex=\"0\"><table class=\"legend\"><thead><tr><th>no.</th><th>defence</th><th>" +
      html_text(x) + "</th><th>" + html_text(y) + "</th><th>front</th></tr></thead><tbody>";
  for (std::size_t i = 0; i < points.size(); ++i) {
    out += "<tr><td class=\"number\">" + std::to_string(i + 1) + "</td><th scope=\"row\">" +
           html_choice(points[i].label) + "</th><td class=\"number\">" + fixed_text(points[i].x) +
           "</td><td class=\"number\">" + fixed_text(points[i].y) + "</td><td>" + (front[i] ? "✓ best" : "") +
           "</td></tr>";
  }
  return out + "</tbody></table></div>";
}

std::string trade_off(const RunRecord& run, const std::string& utility, const std::string& under_attack,
                      const std::string& id) {
  const std::vector<PlotPoint> points = points_of(run, utility, under_attack);
  if (points.size() < 2) return {};
  const bool lower = metric_sense(under_attack) == MetricSense::kLowerIsBetter;
  PlotText text;
  text.id = id;
  text.x = utility + " without an attack";
  text.y = (lower ? "1 − " + under_attack : under_attack) + ", worst attack";
  text.title = utility + ", clean, against " + text.y;
  text.description = "One point for each of " + std::to_string(points.size()) +
                     " defences; better is further up and to the right. On the Pareto front: ";
  const std::vector<bool> front = pareto_front(points);
  std::string names;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (front[i]) names += (names.empty() ? "" : "; ") + points[i].label;
  }
  text.description += names + ". The table beside has every value.";
  return "<figure class=\"panel\"><figcaption>" + html_text(text.title) + "</figcaption>" + scatter_plot(text, points) +
         point_table(points, utility + ", clean", text.y) + "</figure>";
}

std::string sweep_figure(const RunRecord& run, const Sweep& sweep, const std::string& metric, const std::string& id) {
  const std::vector<PlotLine> lines = sweep_lines(run, sweep, metric);
  if (lines.empty()) return {};
  PlotText text;
  text.id = id;
  text.x = sweep.option;
  text.y = metric;
  text.title = metric + " by " + sweep.option + " of " + sweep.of;
  text.description = "Lines with bands of 95 % intervals, one for each " +
                     std::string(sweep.of_attack ? "defence" : "attack") + ". The tables above have every value.";
  std::string legend = "<ul class=\"lines\">";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    legend += "<li>" + line_sample(i) + "<span>" + html_text(lines[i].label) + "</span> <small>" +
              fixed_text(lines[i].points.front().y) + " → " + fixed_text(lines[i].points.back().y) + "</small></li>";
  }
  return "<figure class=\"panel\"><figcaption>" + html_text(text.title) + "</figcaption>" + line_plot(text, lines) +
         legend + "</ul></figure>";
}

}  // namespace

std::string trade_off_section(const RunRecord& run, const std::string& prefix) {
  const auto utility = std::find_if(run.metrics.begin(), run.metrics.end(), [](const std::string& metric) {
    return metric_sense(metric) == MetricSense::kHigherIsBetter;
  });
  if (utility == run.metrics.end()) return {};
  std::string out = trade_off(run, *utility, *utility, prefix + "trade-utility");
  std::size_t number = 0;
  for (const std::string& metric : run.metrics) {
    if (metric_sense(metric) == MetricSense::kLowerIsBetter)
      out += trade_off(run, *utility, metric, prefix + "trade-" + std::to_string(number++));
  }
  if (out.empty()) return {};
  return "<p class=\"hint\">Numbers in the plots are those of the table below each; filled marks are on the Pareto "
         "front: "
         "no other defence is at least as good on both axes and better on one. Whiskers: 95 %.</p><div "
         "class=\"panels\">" +
         out + "</div>";
}

std::string sweep_section(const RunRecord& run, const std::string& prefix) {
  std::string out;
  std::size_t number = 0;
  for (const Sweep& sweep : find_sweeps(run)) {
    for (const std::string& metric : run.metrics)
      out += sweep_figure(run, sweep, metric, prefix + "sweep-" + std::to_string(number++));
  }
  return out.empty() ? out : "<div class=\"panels\">" + out + "</div>";
}

}  // namespace casemate
