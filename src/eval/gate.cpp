#include "casemate/eval/gate.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "casemate/core/nearest_name.h"
#include "casemate/core/untrusted_text.h"
#include "eval/trimmed.h"

namespace casemate {
namespace {

constexpr std::string_view kForm =
    "; a gate looks like \"asr@5 > 0.05\" or \"high(asr@5) > 0.1 where defence != none\"";

Error bad_gate(std::string_view text, const std::string& what) {
  return {ErrorCode::kInvalidOption,
          "gate \"" + UntrustedText(std::string(text)).for_log() + "\" " + what + std::string(kForm)};
}

std::string_view without_options(std::string_view name) { return trimmed(name.substr(0, name.find('{'))); }
std::string_view without_depth(std::string_view metric) { return metric.substr(0, metric.find('@')); }

bool names_metric(const Gate& gate, std::string_view metric) {
  return metric == gate.metric || (gate.metric.find('@') == std::string::npos && without_depth(metric) == gate.metric);
}

bool names_choice(const Gate::Filter& filter, std::string_view name) {
  return name == filter.name || without_options(name) == filter.name;
}

bool lets_through(const Gate& gate, const RunCondition& condition) {
  return std::all_of(gate.filters.begin(), gate.filters.end(), [&](const Gate::Filter& filter) {
    return names_choice(filter, filter.of_attack ? condition.attack : condition.defence) == filter.equal;
  });
}

/// The gate's filters, from "attack = pia, defence != none".
Status read_filters(std::string_view text, std::string_view whole, std::vector<Gate::Filter>& out) {
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '{') ++depth;
    if (i < text.size() && text[i] == '}') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;  // commas also stand inside options
    const std::string_view one = trimmed(text.substr(begin, i - begin));
    begin = i + 1;
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos || equals == 0) return bad_gate(whole, "has a condition without \"=\"");
    Gate::Filter filter;
    filter.equal = one[equals - 1] != '!';
    const std::string_view field = trimmed(one.substr(0, filter.equal ? equals : equals - 1));
    filter.name = std::string(trimmed(one.substr(equals + 1)));
    filter.of_attack = field == "attack";
    if (!filter.of_attack && field != "defence" && field != "method")
      return bad_gate(whole, "asks for something else than attack, defence or method");
    if (filter.name.empty()) return bad_gate(whole, "names nothing behind \"=\"");
    out.push_back(std::move(filter));
  }
  return {};
}

bool holds(Gate::Relation relation, double value, double threshold) {
  switch (relation) {
    case Gate::Relation::kAbove:
      return value > threshold;
    case Gate::Relation::kAtLeast:
      return value >= threshold;
    case Gate::Relation::kBelow:
      return value < threshold;
    case Gate::Relation::kAtMost:
      return value <= threshold;
  }
  return true;
}

bool is_about_attack(std::string_view metric) {
  constexpr std::array<std::string_view, 7> kReached = {
      "asr", "targeted-asr", "poison-share", "poison-rank", "attack_success", "answer-asr", "clean_success"};
  const std::string_view base = without_depth(metric);
  return metric.starts_with("leak_") || metric.starts_with("crr_") ||
         std::find(kReached.begin(), kReached.end(), base) != kReached.end();
}

/// Whether the run ought to have a figure there.
bool is_measured(const RunRecord& run, const RunCondition& condition, std::string_view metric) {
  const bool attacked = condition.attack != "none";
  return run.kind == "leakage" ? is_about_attack(metric) == attacked : attacked || !is_about_attack(metric);
}

/// Why a figure shows nothing; empty where it shows something.
std::string nothing_in(const RunRecord& run, const RunCondition& condition, const RunFigure* figure) {
  if (run.kind == "leakage" && condition.failed > 0) return std::to_string(condition.failed) + " answers failed";
  if (figure == nullptr || figure->of == 0) return "no query gave a result";
  if (!std::isfinite(figure->value)) return "it is no finite number";
  if (figure->interval && !(std::isfinite(figure->interval->low) && std::isfinite(figure->interval->high)))
    return "its interval is no finite one";
  return {};
}

Status check_filters(const Gate& gate, bool of_attack, std::span<const std::string> known) {
  if (known.empty()) return {};
  for (const Gate::Filter& filter : gate.filters) {
    if (filter.of_attack != of_attack) continue;
    const bool there = std::any_of(known.begin(), known.end(),
                                   [&filter](const std::string& name) { return names_choice(filter, name); });
    if (there) continue;
    return bad_gate(gate.text, std::string("names ") + (of_attack ? "an attack" : "a defence") +
                                   " that the run does not have: " + UntrustedText(filter.name).for_log() +
                                   name_hint(filter.name, known));
  }
  return {};
}

}  // namespace

Result<Gate> parse_gate(std::string_view text) {
  Gate out;
  out.text = std::string(trimmed(text));
  const std::size_t where = text.find(" where ");
  std::string_view claim = trimmed(text.substr(0, where));
  const std::size_t at = claim.find_first_of("<>");
  if (at == std::string_view::npos) return bad_gate(text, "has no \"<\" or \">\"");
  const bool with_equal = at + 1 < claim.size() && claim[at + 1] == '=';
  if (claim[at] == '>') {
    out.relation = with_equal ? Gate::Relation::kAtLeast : Gate::Relation::kAbove;
  } else {
    out.relation = with_equal ? Gate::Relation::kAtMost : Gate::Relation::kBelow;
  }
  std::string_view metric = trimmed(claim.substr(0, at));
  const std::string_view number = trimmed(claim.substr(at + (with_equal ? 2 : 1)));
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), out.threshold);
  if (number.empty() || error != std::errc() || end != number.data() + number.size() || !std::isfinite(out.threshold))
    return bad_gate(text, "compares with something that is no number");
  for (const auto& [name, figure] : {std::pair<std::string_view, Gate::Figure>{"low(", Gate::Figure::kLow},
                                     std::pair<std::string_view, Gate::Figure>{"high(", Gate::Figure::kHigh}}) {
    if (!metric.starts_with(name) || !metric.ends_with(")")) continue;
    out.figure = figure;
    metric = trimmed(metric.substr(name.size(), metric.size() - name.size() - 1));
    break;
  }
  out.metric = std::string(metric);
  if (out.metric.empty()) return bad_gate(text, "names no metric");
  if (where != std::string_view::npos) {
    if (Status read = read_filters(trimmed(text.substr(where + 7)), text, out.filters); !read) return read.error();
  }
  return out;
}

Status check_gate_names(std::span<const Gate> gates, std::span<const std::string> metrics,
                        std::span<const std::string> attacks, std::span<const std::string> defences) {
  for (const Gate& gate : gates) {
    const bool known = std::any_of(metrics.begin(), metrics.end(),
                                   [&gate](const std::string& metric) { return names_metric(gate, metric); });
    if (!known) {
      return bad_gate(gate.text, "names a metric that the run does not have: " + UntrustedText(gate.metric).for_log() +
                                     name_hint(gate.metric, metrics));
    }
    if (Status checked = check_filters(gate, true, attacks); !checked) return checked;
    if (Status checked = check_filters(gate, false, defences); !checked) return checked;
  }
  return {};
}

Result<std::vector<GateResult>> ask_gates(const RunRecord& run, std::span<const Gate> gates) {
  if (Status checked = check_gate_names(gates, run.metrics, run.attacks, run.defences); !checked)
    return checked.error();
  const std::set<std::string> metrics(run.metrics.begin(), run.metrics.end());
  std::vector<GateResult> out;
  for (std::size_t g = 0; g < gates.size(); ++g) {
    const Gate& gate = gates[g];
    const std::size_t before = out.size();
    for (const RunCondition& condition : run.conditions) {
      if (!lets_through(gate, condition)) continue;
      if (condition.figures.empty()) {
        out.push_back({g,
                       condition.attack,
                       condition.defence,
                       gate.metric,
                       condition.log,
                       {},
                       0,
                       true,
                       "no query gave a result"});
        continue;
      }
      for (const std::string& metric : metrics) {
        if (!names_metric(gate, metric)) continue;
        const auto found = condition.figures.find(metric);
        const bool there = found != condition.figures.end();
        if (!there && !is_measured(run, condition, metric)) continue;
        const RunFigure figure = there ? found->second : RunFigure{};
        GateResult result{g, condition.attack, condition.defence, metric, condition.log, figure, figure.value, false};
        result.reason = nothing_in(run, condition, there ? &figure : nullptr);
        if (!result.reason.empty()) {
          result.failed = true;
          out.push_back(std::move(result));
          continue;
        }
        if (gate.figure != Gate::Figure::kValue) {
          if (!figure.interval) return bad_gate(gate.text, "asks for an interval, and " + metric + " has none");
          result.compared = gate.figure == Gate::Figure::kLow ? figure.interval->low : figure.interval->high;
        }
        result.failed = holds(gate.relation, result.compared, gate.threshold);
        out.push_back(std::move(result));
      }
    }
    if (out.size() == before) return bad_gate(gate.text, "is asked of no condition of the run");
  }
  return out;
}

}  // namespace casemate
