#include "casemate/pipeline/evidence.h"

#include <nlohmann/json.hpp>

#include "casemate/core/utf8.h"
#include "pipeline/protection_json.h"

namespace casemate {
namespace {

using Json = nlohmann::ordered_json;

Json verdict_json(const Verdict& verdict) {
  Json out = {{"chunk", verdict.chunk},
              {"document", to_valid_utf8(verdict.document)},
              {"decision", decision_name(verdict.decision)},
              {"reason", to_valid_utf8(verdict.reason)}};
  if (verdict.score) out["score"] = *verdict.score;
  if (verdict.threshold) out["threshold"] = *verdict.threshold;
  if (verdict.copy_of) out["copy_of"] = *verdict.copy_of;
  if (!verdict.measures.empty()) {
    Json measures = Json::object();
    for (const auto& [name, value] : verdict.measures) measures[name] = value;
    out["measures"] = std::move(measures);
  }
  if (!verdict.masked.empty()) {
    Json masked = Json::array();
    for (const CharacterSpan& span : verdict.masked) masked.push_back({{"begin", span.begin}, {"end", span.end}});
    out["masked"] = std::move(masked);
  }
  return out;
}

Json stage_json(const StageEvidence& stage) {
  Json parameters = Json::object();
  for (const auto& [name, value] : stage.parameters) parameters[name] = to_valid_utf8(value);
  Json verdicts = Json::array();
  for (const Verdict& verdict : stage.verdicts) verdicts.push_back(verdict_json(verdict));
  Json notes = Json::array();
  for (const std::string& note : stage.notes) notes.push_back(to_valid_utf8(note));
  return {{"stage", stage.stage},
          {"parameters", std::move(parameters)},
          {"passages_in", stage.passages_in},
          {"passages_out", stage.passages_out},
          {"verdicts", std::move(verdicts)},
          {"notes", std::move(notes)}};
}

Json group_json(const GroupEvidence& group, const std::string& method) {
  Json out = {{"passages", group.passages},
              {"abstains", group.abstains},
              {"too_long", group.too_long},
              {"stands_behind", group.stands_behind}};
  if (method == "decoding") {
    out["agreement"] = group.agreement;
    out["abstention_probability"] = group.abstention_probability;
    return out;
  }
  out["answer"] = group.answer.for_json();
  if (group.smallest_gap) out["smallest_gap"] = *group.smallest_gap;
  if (!group.vote.empty()) out["vote"] = group.vote;
  if (method == "keyword") {
    out["keywords"] = Json::array();
    for (const std::string& keyword : group.keywords) out["keywords"].push_back(to_valid_utf8(keyword));
  }
  return out;
}

Json generation_json(const GenerationEvidence& generation) {
  Json groups = Json::array();
  for (const GroupEvidence& group : generation.groups) groups.push_back(group_json(group, generation.method));
  Json out = {{"method", generation.method},
              {"from_passages", generation.from_passages},
              {"groups", std::move(groups)},
              {"decoded_tokens", generation.decoded_tokens},
              {"reused_tokens", generation.reused_tokens}};
  if (generation.method != "decoding") {
    out["counts"] = Json::array();
    for (const auto& [name, count] : generation.counts)
      out["counts"].push_back({{"name", to_valid_utf8(name)}, {"groups", count}});
  }
  if (generation.method == "keyword") {
    out["hints"] = Json::array();
    for (const std::string& hint : generation.hints) out["hints"].push_back(to_valid_utf8(hint));
  }
  if (generation.method == "decoding") {
    out["steps"] = Json::array();
    for (const StepEvidence& step : generation.steps)
      out["steps"].push_back(
          {{"text", step.text.for_json()}, {"from_passages", step.from_passages}, {"gap", step.gap}});
  }
  if (generation.certified) out["certified"] = {{"k_prime", generation.k_prime}, {"limited_by", generation.limited_by}};
  return out;
}

}  // namespace

std::string to_json(const Evidence& evidence) {
  Json stages = Json::array();
  for (const StageEvidence& stage : evidence.stages) stages.push_back(stage_json(stage));
  Json out = {{"version", kEvidenceVersion}, {"policy", evidence.policy}, {"stages", std::move(stages)}};
  if (evidence.generation) out["generation"] = generation_json(*evidence.generation);
  if (evidence.sanitizer) out["sanitizer"] = sanitizer_json(*evidence.sanitizer);
  if (evidence.guard) out["guard"] = guard_json(*evidence.guard);
  for (const DegradedStage& each : evidence.degraded)
    out["degraded"].push_back({{"stage", each.stage}, {"reason", to_valid_utf8(each.reason)}});
  return out.dump();
}

}  // namespace casemate
