#include "casemate/eval/leakage_experiment.h"

#include <algorithm>
#include <array>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "casemate/core/nearest_name.h"
#include "casemate/core/utf8.h"

namespace casemate {
namespace {

using nlohmann::ordered_json;

constexpr std::array kCases = {LeakCase::kClean, LeakCase::kTargeted, LeakCase::kUntargeted, LeakCase::kContext};
constexpr std::array kInstructions = {LeakInstruction::kNative, LeakInstruction::kEscapeCharacters,
                                      LeakInstruction::kContextIgnoring, LeakInstruction::kFakeCompletion,
                                      LeakInstruction::kCombined};

/// The values that a list of names means; all of `every` where the list is empty.
template <class Value, std::size_t n>
Result<std::vector<Value>> named(const std::vector<std::string>& names, const std::array<Value, n>& every,
                                 std::string_view (*name_of)(Value) noexcept, std::string_view field) {
  if (names.empty()) return std::vector<Value>(every.begin(), every.end());
  std::vector<Value> out;
  std::vector<std::string_view> known;
  for (const Value value : every) known.push_back(name_of(value));
  for (const std::string& name : names) {
    const auto at = std::find(known.begin(), known.end(), name);
    if (at == known.end()) {
      return Error{ErrorCode::kInvalidOption, std::string(field) + ": there is no \"" + UntrustedText(name).for_log() +
                                                  "\"" + name_hint(name, known)};
    }
    out.push_back(every[static_cast<std::size_t>(at - known.begin())]);
  }
  return out;
}

std::string number(double value) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(3) << value;
  return out.str();
}

std::string mean_over(std::size_t over, double value) { return over == 0 ? "-" : number(value); }

}  // namespace

std::string_view leak_case_name(LeakCase which) noexcept {
  switch (which) {
    case LeakCase::kClean:
      return "clean";
    case LeakCase::kTargeted:
      return "targeted";
    case LeakCase::kUntargeted:
      return "untargeted";
    case LeakCase::kContext:
      return "context";
  }
  return "clean";
}

bool is_leakage_experiment(const YamlValue& root) {
  const auto kind = root.find("kind");
  if (!kind) return false;
  const auto text = kind->text();
  return text.ok() && *text == "leakage";
}

Result<LeakageExperiment> read_leakage_experiment(const YamlValue& root) {
  LeakageExperiment out;
  std::string kind;
  std::string guard;
  std::vector<std::string> modes;
  std::vector<std::string> cases;
  std::vector<std::string> instructions;
  std::optional<YamlValue> data;
  YamlOptions fields(root);
  fields.read("name", out.name).required().read("description", out.description).read("kind", kind);
  fields.read("data", data).required().read("seed", out.seed, 0, ~std::uint64_t{0});
  fields.read("questions", out.questions, 1, 100'000).read("quick_questions", out.quick_questions, 1, 100'000);
  fields.read("distractors", out.distractors, 0, 1'000'000).read("passages", out.passages, 1, 64);
  fields.read("max_new_tokens", out.max_new_tokens, 8, 4096).read("modes", modes).required();
  fields.read("cases", cases).read("instructions", instructions).read("guard", guard);
  if (Status read = fields.finish(); !read) return read.error();
  YamlOptions source(*data);
  source.read("format", out.data_format).read("path", out.data_path).required();
  if (Status read = source.finish(); !read) return read.error();
  for (const std::string& text : modes) {
    auto mode = parse_sanitizer(text);
    if (!mode) return mode.error().in("modes");
    out.modes.push_back(*std::move(mode));
  }
  if (out.modes.empty()) return Error{ErrorCode::kInvalidOption, "modes: at least one sanitizer"};
  auto chosen = named(cases, kCases, &leak_case_name, "cases");
  if (!chosen) return chosen.error();
  out.cases = *std::move(chosen);
  auto orders = named(instructions, kInstructions, &leak_instruction_name, "instructions");
  if (!orders) return orders.error();
  out.instructions = *std::move(orders);
  if (!guard.empty()) {
    const auto options = parse_guard(guard);
    if (!options) return options.error();
    out.guard = *options;
  }
  return out;
}

std::string leakage_mode_name(const SanitizerChoice& mode) {
  return mode.name + (mode.options == "{}" ? "" : mode.options);
}

std::vector<std::string> leakage_metrics(const LeakageExperiment& experiment) {
  std::vector<std::string> out;
  const auto& cases = experiment.cases;
  if (std::find(cases.begin(), cases.end(), LeakCase::kClean) != cases.end())
    out = {"contains", "exact_match", "f1", "bleu1", "rouge_l"};
  if (std::all_of(cases.begin(), cases.end(), [](LeakCase which) { return which == LeakCase::kClean; })) return out;
  for (const char* name : {"leak_eed", "leak_rouge_l", "leak_f1", "leak_bleu1", "leak_ss", "leak_withheld"})
    out.emplace_back(name);
  for (const char* name : {"crr_eed@", "crr_lcs@"}) {
    for (const double threshold : kRecoveryThresholds) out.push_back(name + ordered_json(threshold).dump());
  }
  return out;
}

void LeakageRow::add(const LeakByInstruction& each) {
  if (worst.empty() || each.eed > eed) worst = each.instruction;
  eed = std::max(eed, each.eed);
  rouge_l = std::max(rouge_l, each.rouge_l);
  withheld += each.withheld;
  instructions.push_back(each);
}

namespace {

ordered_json instructions_json(const LeakageRow& row) {
  ordered_json out = ordered_json::array();
  for (const LeakByInstruction& each : row.instructions) {
    const auto mean = [&each](double value) { return each.questions > 0 ? ordered_json(value) : ordered_json(); };
    out.push_back({{"instruction", each.instruction},
                   {"eed", mean(each.eed)},
                   {"rouge_l", mean(each.rouge_l)},
                   {"withheld", each.withheld},
                   {"questions", each.questions}});
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
    for (const LeakByInstruction& each : row.instructions) out += " " + mean_over(each.questions, each.eed) + " |";
    out += "\n";
  }
  return out;
}

}  // namespace

std::string to_json(const LeakageRun& run) {
  ordered_json out = {{"kind", "leakage"}, {"utility", ordered_json::array()}, {"leakage", ordered_json::array()}};
  for (const UtilityRow& row : run.utility) {
    out["utility"].push_back({{"mode", to_valid_utf8(row.mode)},
                              {"questions", row.questions},
                              {"failed", row.failed},
                              {"bleu1", row.bleu1},
                              {"rouge_l", row.rouge_l},
                              {"exact_match", row.exact_match},
                              {"f1", row.f1},
                              {"contains", row.contains},
                              {"in_keywords", row.in_keywords},
                              {"in_facts", row.in_facts},
                              {"in_context", row.in_context}});
  }
  for (const LeakageRow& row : run.leakage) {
    out["leakage"].push_back({{"mode", to_valid_utf8(row.mode)},
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
                              {"failed", row.failed}});
    out["leakage"].back()["instructions"] = instructions_json(row);
  }
  // A mean over nothing is no 0.
  for (const char* list : {"utility", "leakage"}) {
    for (ordered_json& row : out[list]) {
      if (row["questions"].get<std::size_t>() != 0) continue;
      for (const auto& [name, value] : row.items()) {
        if (value.is_number_float()) value = nullptr;
        if (name.starts_with("crr_") && name != "crr_thresholds") std::fill(value.begin(), value.end(), nullptr);
      }
    }
  }
  return out.dump(1) + "\n";
}

std::string to_markdown(const LeakageRun& run) {
  std::ostringstream out;
  if (!run.utility.empty()) {
    out << "Utility on clean questions; where the right answer still stands (keywords, facts, context, answer).\n\n"
        << "| mode | BLEU-1 | ROUGE-L | EM | F1 | ROUGE-L of vanilla | keywords | facts | context | answer | n | "
           "failed | s |\n"
        << "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    double vanilla = 0;
    for (const UtilityRow& row : run.utility) {
      if (row.mode == "vanilla") vanilla = row.rouge_l;
    }
    for (const UtilityRow& row : run.utility) {
      out << "| " << row.mode << " | " << mean_over(row.questions, row.bleu1) << " | "
          << mean_over(row.questions, row.rouge_l) << " | " << mean_over(row.questions, row.exact_match) << " | "
          << mean_over(row.questions, row.f1) << " | "
          << (vanilla > 0 && row.questions > 0 ? number(row.rouge_l / vanilla) : "-") << " | "
          << mean_over(row.questions, row.in_keywords) << " | " << mean_over(row.questions, row.in_facts) << " | "
          << mean_over(row.questions, row.in_context) << " | " << mean_over(row.questions, row.contains) << " | "
          << row.questions << " | " << row.failed << " | " << (row.seconds ? number(*row.seconds) : "-") << " |\n";
    }
    out << '\n';
  }
  if (!run.leakage.empty()) {
    out << "Leakage: nearest retrieved chunk, worst instruction for each figure; CRR at 0.5.\n\n"
        << "| case | mode | SS | EED | F1 | BLEU-1 | ROUGE-L | CRR (EED) | CRR (LCS) | withheld | worst | n | failed "
           "|\n"
        << "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    for (const LeakageRow& row : run.leakage) {
      out << "| " << leak_case_name(row.which) << " | " << row.mode << " | " << mean_over(row.questions, row.ss)
          << " | " << mean_over(row.questions, row.eed) << " | " << mean_over(row.questions, row.f1) << " | "
          << mean_over(row.questions, row.bleu1) << " | " << mean_over(row.questions, row.rouge_l) << " | "
          << mean_over(row.questions, row.crr_eed.at(1)) << " | " << mean_over(row.questions, row.crr_lcs.at(1))
          << " | " << row.withheld << " | " << row.worst << " | " << row.questions << " | " << row.failed << " |\n";
    }
    out << instruction_table(run);
  }
  return out.str();
}

}  // namespace casemate
