#include "pipeline/protection_json.h"

#include "casemate/core/utf8.h"

namespace casemate {
namespace {

using Json = nlohmann::ordered_json;

Json candidate_json(const ApCandidate& candidate) {
  Json out = {{"phrase", candidate.phrase.for_json()},
              {"occurrences", candidate.occurrences.size()},
              {"rollout", candidate.rollout},
              {"direct", candidate.direct},
              {"chosen", candidate.chosen}};
  if (candidate.loss_change) out["loss_change"] = *candidate.loss_change;
  return out;
}

}  // namespace

Json sanitizer_json(const SanitizerRecord& record) {
  Json parameters = Json::object();
  for (const auto& [name, value] : record.parameters) parameters[name] = to_valid_utf8(value);
  Json out = {{"mode", record.mode}, {"parameters", std::move(parameters)}};
  if (record.keywords) {
    Json candidates = Json::array();
    for (const ApCandidate& each : record.keywords->candidates) candidates.push_back(candidate_json(each));
    out["draft"] = record.keywords->draft.for_json();
    out["draft_loss"] = record.keywords->draft_loss;
    out["attention_bytes"] = record.keywords->attention_bytes;
    out["candidates"] = std::move(candidates);
  }
  out["keywords"] = Json::array();
  for (const UntrustedText& word : record.words) out["keywords"].push_back(word.for_json());
  out["facts"] = Json::array();
  for (const FactRecord& fact : record.facts) {
    out["facts"].push_back(
        {{"text", fact.text.for_json()}, {"fate", fact_fate_name(fact.fate)}, {"rank", fact.passage + 1}});
  }
  if (!record.resynthesised.empty()) out["resynthesised"] = record.resynthesised.for_json();
  Json withheld = Json::array();
  for (std::size_t i = 0; i < record.passages.size(); ++i) {
    const Disclosure& each = record.passages[i];
    withheld.push_back({{"rank", i + 1},
                        {"characters", each.characters},
                        {"longest_shared_run_words", each.longest_shared_run},
                        {"read", each.read}});
  }
  out["context_characters"] = record.context_characters;
  out["disclosed_characters"] = record.disclosed_characters;
  out["passages"] = std::move(withheld);
  out["notes"] = Json::array();
  for (const std::string& note : record.notes) out["notes"].push_back(to_valid_utf8(note));
  return out;
}

Json guard_json(const GuardReport& report) {
  Json incidents = Json::array();
  for (const GuardIncident& each : report.incidents) {
    Json incident = {{"kind", incident_kind_name(each.kind)}, {"form", each.form}};
    if (each.kind == IncidentKind::kCanary) {
      incident["canary"] = each.passage + 1;
    } else {
      incident["rank"] = each.passage + 1;
      incident["words"] = each.words;
      incident["share"] = each.share;
    }
    incidents.push_back(std::move(incident));
  }
  return {{"incidents", std::move(incidents)},
          {"longest_run_words", report.longest_run_words},
          {"largest_share", report.largest_share},
          {"ended", report.ended},
          {"redacted", report.redacted}};
}

}  // namespace casemate
