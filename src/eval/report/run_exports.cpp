// A run as CSV, Markdown, LaTeX and JSON.
#include <nlohmann/json.hpp>

#include "casemate/core/utf8.h"
#include "casemate/eval/export.h"
#include "eval/report/html.h"

namespace casemate {
namespace {

using nlohmann::ordered_json;

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string exact(double value) { return ordered_json(value).dump(); }

/// For a cell of a Markdown table: one line, no column bars, no markup that a reader would run.
std::string markdown_text(const std::string& text) {
  std::string out;
  for (const char c : to_valid_utf8(text)) {
    const bool special = c == '|' || c == '<' || c == '\\' || c == '`' || c == '*' || c == '[';
    if (special) out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

std::string latex_text(const std::string& text) {
  std::string out;
  for (const char c : to_valid_utf8(text)) {
    switch (c) {
      case '\\':
        out += "\\textbackslash{}";
        break;
      case '~':
        out += "\\textasciitilde{}";
        break;
      case '^':
        out += "\\textasciicircum{}";
        break;
      case '&':
      case '%':
      case '$':
      case '#':
      case '_':
      case '{':
      case '}':
        out += std::string{'\\', c};
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::string plain_label(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    out += plain ? c : '-';
  }
  return out;
}

const RunFigure* figure_of(const RunRecord& run, const std::string& attack, const std::string& defence,
                           const std::string& metric) {
  const RunCondition* condition = run.find(attack, defence);
  if (condition == nullptr) return nullptr;
  const auto found = condition->figures.find(metric);
  return found == condition->figures.end() ? nullptr : &found->second;
}

ordered_json figure_json(const RunFigure& figure) {
  ordered_json out = {{"value", figure.value}, {"n", figure.of}};
  if (figure.interval) {
    out["interval"] = {figure.interval->low, figure.interval->high};
    out["interval_kind"] = figure.is_rate ? "Wilson" : "bootstrap";
  }
  return out;
}

}  // namespace

std::string run_csv(const RunRecord& run) {
  std::string out = "run,kind,attack,defence,metric,value,low,high,n\n";
  for (const RunCondition& each : run.conditions) {
    for (const std::string& metric : run.metrics) {
      const auto figure = each.figures.find(metric);
      if (figure == each.figures.end()) continue;
      const RunFigure& value = figure->second;
      out += csv_field(run.name) + "," + run.kind + "," + csv_field(each.attack) + "," + csv_field(each.defence) + "," +
             csv_field(metric) + "," + exact(value.value) + "," + (value.interval ? exact(value.interval->low) : "") +
             "," + (value.interval ? exact(value.interval->high) : "") + "," + std::to_string(value.of) + "\n";
    }
  }
  return out;
}

std::string run_markdown(const RunRecord& run) {
  std::string out = "# " + markdown_text(run.name) + "\n\n" + markdown_text(run.description) + "\n\n";
  for (const auto& [name, value] : run.facts) out += "- " + name + ": " + markdown_text(value) + "\n";
  for (const std::string& metric : run.metrics) {
    out += "\n## " + markdown_text(metric) + "\n\n| attack |";
    std::string rule = "|---|";
    for (const std::string& defence : run.defences) {
      out += " " + markdown_text(defence) + " |";
      rule += "---|";
    }
    out += "\n" + rule + "\n";
    for (const std::string& attack : run.attacks) {
      out += "| " + markdown_text(attack) + " |";
      for (const std::string& defence : run.defences) {
        const RunFigure* figure = figure_of(run, attack, defence, metric);
        out +=
            figure == nullptr ? " – |" : " " + fixed_text(figure->value) + " " + interval_text(figure->interval) + " |";
      }
      out += "\n";
    }
  }
  if (run.differences.empty()) return out;
  out +=
      "\n## Differences\n\n| metric | condition | against | difference | 95 % | n | discordant | p (Holm) |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const RunDifference& row : run.differences) {
    out += "| " + markdown_text(row.metric) + " | " + markdown_text(row.condition) + " | " +
           markdown_text(row.against) + " | " + fixed_text(row.result.difference, 4) + " | " +
           interval_text(row.result.interval, 4) + " | " + std::to_string(row.result.queries) + " | " +
           std::to_string(row.result.discordant()) + " | " + p_value_text(row.p_adjusted) + " |\n";
  }
  return out;
}

std::string run_latex(const RunRecord& run) {
  std::string out = "% Needs \\usepackage{booktabs}. Brackets: 95 % intervals.\n";
  for (const std::string& metric : run.metrics) {
    out += "\\begin{table}\n\\centering\n\\caption{" + latex_text(run.name + ": " + metric) +
           "}\n\\label{tab:" + plain_label(run.name + "-" + metric) + "}\n\\begin{tabular}{l" +
           std::string(run.defences.size(), 'c') + "}\n\\toprule\nattack";
    for (const std::string& defence : run.defences) out += " & " + latex_text(defence);
    out += " \\\\\n\\midrule\n";
    for (const std::string& attack : run.attacks) {
      out += latex_text(attack);
      for (const std::string& defence : run.defences) {
        const RunFigure* figure = figure_of(run, attack, defence, metric);
        out += figure == nullptr
                   ? " & --"
                   : " & " + fixed_text(figure->value) + " {\\small " + interval_text(figure->interval) + "}";
      }
      out += " \\\\\n";
    }
    out += "\\bottomrule\n\\end{tabular}\n\\end{table}\n";
  }
  return out;
}

std::string run_json(const RunRecord& run) {
  ordered_json facts = ordered_json::object();
  for (const auto& [name, value] : run.facts) facts[name] = value;
  ordered_json conditions = ordered_json::array();
  for (const RunCondition& each : run.conditions) {
    ordered_json figures = ordered_json::object();
    for (const std::string& metric : run.metrics) {
      const auto figure = each.figures.find(metric);
      if (figure != each.figures.end()) figures[metric] = figure_json(figure->second);
    }
    conditions.push_back({{"attack", each.attack},
                          {"defence", each.defence},
                          {"queries", each.queries},
                          {"failed", each.failed},
                          {"planted", each.planted},
                          {"log", each.log},
                          {"figures", std::move(figures)}});
  }
  ordered_json differences = ordered_json::array();
  for (const RunDifference& row : run.differences) {
    const Comparison& result = row.result;
    differences.push_back({{"metric", row.metric},
                           {"condition", row.condition},
                           {"against", row.against},
                           {"n", result.queries},
                           {"difference", result.difference},
                           {"interval", {result.interval.low, result.interval.high}},
                           {"discordant", result.discordant()},
                           {"p", result.p},
                           {"p_holm", row.p_adjusted}});
  }
  ordered_json certified = ordered_json::array();
  for (const RunCertified& each : run.certified) {
    certified.push_back({{"method", each.method},
                         {"budget", each.budget},
                         {"certified", figure_json(each.share)},
                         {"attacks_tried", each.tried},
                         {"broken", each.broken}});
  }
  return ordered_json{{"run", run.name},
                      {"kind", run.kind},
                      {"description", run.description},
                      {"facts", std::move(facts)},
                      {"conditions", std::move(conditions)},
                      {"differences", std::move(differences)},
                      {"certified", std::move(certified)}}
             .dump(1) +
         "\n";
}

}  // namespace casemate
