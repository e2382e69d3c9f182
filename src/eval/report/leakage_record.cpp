#include "eval/report/leakage_record.h"

#include <algorithm>
#include <array>

namespace casemate {
namespace {

using nlohmann::json;

void add_name(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

template <std::size_t N>
void add(const json& row, const std::string& attack, const std::array<const char*, N>& fields,
         const std::string& prefix, RunRecord& run) {
  if (!row.is_object()) return;
  RunCondition condition;
  condition.attack = attack;
  const auto mode = row.find("mode");
  if (mode == row.end() || !mode->is_string()) return;
  condition.defence = mode->get<std::string>();
  const auto questions = row.find("questions");
  if (questions != row.end() && questions->is_number_unsigned()) condition.queries = questions->get<std::uint64_t>();
  for (const char* field : fields) {
    const auto value = row.find(field);
    if (value == row.end() || !value->is_number()) continue;
    add_name(run.metrics, prefix + field);
    condition.figures[prefix + field] = {value->get<double>(), std::nullopt, condition.queries, false};
  }
  add_name(run.attacks, condition.attack);
  add_name(run.defences, condition.defence);
  run.conditions.push_back(std::move(condition));
}

}  // namespace

void read_leakage_conditions(const json& summary, RunRecord& run) {
  constexpr std::array kUtility = {"contains", "exact_match", "f1", "bleu1", "rouge_l"};
  constexpr std::array kLeakage = {"eed", "rouge_l", "f1", "bleu1", "ss", "withheld"};
  const auto rows = [&summary](const char* field) {
    const auto found = summary.find(field);
    return found != summary.end() && found->is_array() ? *found : json::array();
  };
  for (const json& row : rows("utility")) add(row, "none", kUtility, "", run);
  for (const json& row : rows("leakage")) {
    const auto which = row.is_object() ? row.find("case") : row.end();
    if (which != row.end() && which->is_string()) add(row, which->get<std::string>(), kLeakage, "leak_", run);
  }
}

}  // namespace casemate
