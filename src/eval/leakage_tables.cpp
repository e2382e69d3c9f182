// The figures of a leakage experiment as Markdown, JSON and CSV.
#include <algorithm>
#include <array>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "casemate/core/utf8.h"
#include "casemate/eval/leakage_experiment.h"
#include "eval/leakage_figures.h"

namespace casemate {
namespace {

using nlohmann::ordered_json;

std::string number(double value) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(3) << value;
  return out.str();
}

/// The figure with its interval; "-" over nothing.
std::string cell(std::size_t over, double value, const FigureIntervals& intervals, const std::string& name) {
  if (over == 0) return "-";
  const auto found = intervals.find(name);
  if (found == intervals.end()) return number(value);
  std::ostringstream out;
  out << number(value) << std::fixed << std::setprecision(2) << " [" << found->second.interval.low << ", "
      << found->second.interval.high << "]";
  return out.str();
}

ordered_json intervals_json(const FigureIntervals& intervals) {
  ordered_json out = ordered_json::object();
  for (const auto& [name, each] : intervals) {
    out[name] = {{"low", each.interval.low},
                 {"high", each.interval.high},
                 {"interval_kind", each.is_rate ? "Wilson" : "bootstrap"}};
  }
  return out;
}

ordered_json instructions_json(const LeakageRow& row) {
  ordered_json out = ordered_json::array();
  for (const LeakByInstruction& each : row.instructions) {
    const auto mean = [&each](double value) { return each.questions > 0 ? ordered_json(value) : ordered_json(); };
    out.push_back({{"instruction", each.instruction},
                   {"eed", mean(each.eed)},
                   {"rouge_l", mean(each.rouge_l)},
                   {"withheld", each.withheld},
                   {"questions", each.questions},
                   {"intervals", intervals_json(each.intervals)}});
  }
  return out;
}

/// The worst of the instructions is what counts; this is all of them.
std::string instruction_table(const LeakageRun& run) {
  if (run.leakage.empty() || run.leakage.front().instructions.size() < 2) return {};
  std::string head = "| case | mode |";
  std::string rule = "|---|---|";
  for (const LeakByInstruction& each : run.leakage.front().instructions) {
    head += " " + each.instruction + " |";
    rule += "---|";
  }
  std::string out = "\nEED by instruction.\n\n" + head + "\n" + rule + "\n";
  for (const LeakageRow& row : run.leakage) {
    out += "| " + std::string(leak_case_name(row.which)) + " | " + row.mode + " |";
    for (const LeakByInstruction& each : row.instructions)
      out += " " + cell(each.questions, each.eed, each.intervals, "eed") + " |";
    out += "\n";
  }
  return out;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

/// One line a figure.
class Csv {
 public:
  void line(std::string_view which, const std::string& mode, const std::string& instruction, const std::string& name,
            double value, std::size_t over, const FigureIntervals& intervals) {
    out_ << which << ',' << quoted(mode) << ',' << instruction << ',' << name << ',';
    const auto found = intervals.find(name);
    if (over > 0) out_ << value;
    if (over > 0 && found != intervals.end()) {
      out_ << ',' << found->second.interval.low << ',' << found->second.interval.high << ','
           << (found->second.is_rate ? "Wilson" : "bootstrap");
    } else {
      out_ << ",,,";
    }
    out_ << ',' << over << '\n';
  }
  [[nodiscard]] std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

}  // namespace

std::string to_json(const LeakageRun& run) {
  ordered_json out = {{"kind", "leakage"}, {"utility", ordered_json::array()}, {"leakage", ordered_json::array()}};
  for (const UtilityRow& row : run.utility) {
    ordered_json entry = {{"mode", to_valid_utf8(row.mode)}, {"questions", row.questions}, {"failed", row.failed}};
    for (const auto& [name, value] : utility_figures(row)) entry[name] = value;
    entry["intervals"] = intervals_json(row.intervals);
    out["utility"].push_back(std::move(entry));
  }
  for (const LeakageRow& row : run.leakage) {
    ordered_json entry = {{"mode", to_valid_utf8(row.mode)},
                          {"case", leak_case_name(row.which)},
                          {"worst_instruction", row.worst},
                          {"ss", row.ss},
                          {"eed", row.eed},
                          {"f1", row.f1},
                          {"bleu1", row.bleu1},
                          {"rouge_l", row.rouge_l},
                          {"crr_thresholds", kRecoveryThresholds},
                          {"crr_eed", row.crr_eed},
                          {"crr_lcs", row.crr_lcs},
                          {"withheld", row.withheld},
                          {"questions", row.questions},
                          {"failed", row.failed},
                          {"instructions", instructions_json(row)},
                          {"intervals", intervals_json(row.intervals)}};
    out["leakage"].push_back(std::move(entry));
  }
  // A mean over nothing is no 0.
  for (const char* list : {"utility", "leakage"}) {
    for (ordered_json& row : out[list]) {
      if (row["questions"].get<std::size_t>() != 0) continue;
      row["intervals"] = ordered_json::object();
      for (const auto& [name, value] : row.items()) {
        if (value.is_number_float()) value = nullptr;
        if (name.starts_with("crr_") && name != "crr_thresholds") std::fill(value.begin(), value.end(), nullptr);
      }
    }
  }
  return out.dump(1) + "\n";
}

std::string to_csv(const LeakageRun& run) {
  Csv csv;
  for (const UtilityRow& row : run.utility) {
    for (const auto& [name, value] : utility_figures(row))
      csv.line("clean", row.mode, "", name, value, row.questions, row.intervals);
  }
  for (const LeakageRow& row : run.leakage) {
    const std::string_view which = leak_case_name(row.which);
    for (const auto& [name, value] : leakage_figures(row))
      csv.line(which, row.mode, "worst", name, value, row.questions, row.intervals);
    for (const LeakByInstruction& each : row.instructions) {
      csv.line(which, row.mode, each.instruction, "eed", each.eed, each.questions, each.intervals);
      csv.line(which, row.mode, each.instruction, "rouge_l", each.rouge_l, each.questions, each.intervals);
    }
  }
  return "case,mode,instruction,figure,value,low,high,interval,n\n" + csv.text();
}

std::string to_markdown(const LeakageRun& run) {
  std::ostringstream out;
  if (!run.utility.empty()) {
    out << "Utility on clean questions; where the right answer still stands (keywords, facts, context, answer). In "
           "brackets 95 % intervals: Wilson's of rates, the bootstrap's of means.\n\n"
        << "| mode | BLEU-1 | ROUGE-L | EM | F1 | ROUGE-L of vanilla | keywords | facts | context | answer | n | "
           "failed | s |\n"
        << "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    double vanilla = 0;
    for (const UtilityRow& row : run.utility) {
      if (row.mode == "vanilla") vanilla = row.rouge_l;
    }
    for (const UtilityRow& row : run.utility) {
      const auto figure = [&row](const char* name, double value) {
        return cell(row.questions, value, row.intervals, name);
      };
      out << "| " << row.mode << " | " << figure("bleu1", row.bleu1) << " | " << figure("rouge_l", row.rouge_l) << " | "
          << figure("exact_match", row.exact_match) << " | " << figure("f1", row.f1) << " | "
          << (vanilla > 0 && row.questions > 0 ? number(row.rouge_l / vanilla) : "-") << " | "
          << figure("in_keywords", row.in_keywords) << " | " << figure("in_facts", row.in_facts) << " | "
          << figure("in_context", row.in_context) << " | " << figure("contains", row.contains) << " | " << row.questions
          << " | " << row.failed << " | " << (row.seconds ? number(*row.seconds) : "-") << " |\n";
    }
    out << '\n';
  }
  if (!run.leakage.empty()) {
    out << "Leakage: nearest retrieved chunk, worst instruction for each figure and that one's 95 % interval; CRR at "
           "0.5.\n\n"
        << "| case | mode | SS | EED | F1 | BLEU-1 | ROUGE-L | CRR (EED) | CRR (LCS) | withheld | worst | n | failed "
           "|\n"
        << "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    for (const LeakageRow& row : run.leakage) {
      const auto figure = [&row](const char* name, double value) {
        return cell(row.questions, value, row.intervals, name);
      };
      out << "| " << leak_case_name(row.which) << " | " << row.mode << " | " << figure("ss", row.ss) << " | "
          << figure("eed", row.eed) << " | " << figure("f1", row.f1) << " | " << figure("bleu1", row.bleu1) << " | "
          << figure("rouge_l", row.rouge_l) << " | " << figure("crr_eed@0.5", row.crr_eed.at(1)) << " | "
          << figure("crr_lcs@0.5", row.crr_lcs.at(1)) << " | " << row.withheld << " | " << row.worst << " | "
          << row.questions << " | " << row.failed << " |\n";
    }
    out << instruction_table(run);
  }
  return out.str();
}

}  // namespace casemate
