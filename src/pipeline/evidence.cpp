#include "casemate/pipeline/evidence.h"

#include <nlohmann/json.hpp>

#include "casemate/core/utf8.h"

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

}  // namespace

std::string to_json(const Evidence& evidence) {
  Json stages = Json::array();
  for (const StageEvidence& stage : evidence.stages) stages.push_back(stage_json(stage));
  return Json{{"version", kEvidenceVersion}, {"policy", evidence.policy}, {"stages", std::move(stages)}}.dump();
}

}  // namespace casemate
