#include "casemate/eval/leakage_experiment.h"

#include <algorithm>
#include <array>

#include "casemate/core/nearest_name.h"
#include "eval/experiment_parts.h"
#include "eval/leakage_figures.h"

namespace casemate {
namespace {

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

bool is_leakage_experiment(const YamlValue& root) { return has_kind(root, "leakage"); }

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
  auto source = read_data_source(*data);
  if (!source) return source.error();
  out.data = *std::move(source);
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
  for (const char* curve : {"crr_eed", "crr_lcs"}) {
    for (const double threshold : kRecoveryThresholds) out.push_back(recovery_name(curve, threshold));
  }
  return out;
}

}  // namespace casemate
