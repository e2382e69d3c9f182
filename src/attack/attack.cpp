#include "casemate/attack/attack.h"

#include <nlohmann/json.hpp>

#include "casemate/attack/attacks.h"
#include "casemate/core/utf8.h"

namespace casemate {
namespace {

nlohmann::ordered_json words_of(std::string_view text) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    out.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

/// What every record begins with.
nlohmann::ordered_json head_json(const Attack& attack, const std::string& id) {
  nlohmann::ordered_json parameters = nlohmann::ordered_json::object();
  for (const auto& [name, value] : attack.parameters()) parameters[name] = value;
  nlohmann::ordered_json out = {
      {"id", to_valid_utf8(id)}, {"attack", attack.name()}, {"parameters", std::move(parameters)}};
  if (const auto entry = find_attack(attack.name()); entry) {
    out["access"] = attack_access_name((*entry)->access);
    out["atlas"] = words_of((*entry)->atlas);
    out["owasp_2025"] = words_of((*entry)->owasp_2025);
    out["owasp_2026"] = words_of((*entry)->owasp_2026);
  }
  return out;
}

nlohmann::ordered_json rewards_json(const ParaphraseRewards& rewards) {
  return {{"semantic", rewards.semantic}, {"retrieval", rewards.retrieval}, {"copying", rewards.copying}};
}

void add_trace(const CraftTrace& trace, nlohmann::ordered_json& out) {
  nlohmann::ordered_json tokens = nlohmann::ordered_json::array();
  for (const ChangedToken& each : trace.tokens) {
    tokens.push_back({{"character", each.character}, {"token", each.token}, {"piece", to_valid_utf8(each.piece)}});
  }
  out["iterations"] = trace.iterations;
  out["start_similarity"] = trace.start_similarity;
  out["final_similarity"] = trace.similarity;
  out["objective"] = trace.objective;
  out["tokens"] = std::move(tokens);
  out["forward_tokens"] = trace.forward_tokens;
  out["backward_tokens"] = trace.backward_tokens;
}

}  // namespace

std::string_view attack_access_name(AttackAccess access) noexcept {
  switch (access) {
    case AttackAccess::kWhiteBox:
      return "white box";
    case AttackAccess::kBlackBox:
      return "black box";
    case AttackAccess::kCorpusOnly:
      return "corpus only";
  }
  return "";
}

void Attack::disturb(std::string_view /*query*/, std::uint64_t /*seed*/, std::span<float> /*embedding*/) const {}

std::string attack_record_json(const Attack& attack, const CraftedDocument& document) {
  nlohmann::ordered_json changed = nlohmann::ordered_json::array();
  for (const CharacterSpan& span : document.changed) changed.push_back({span.begin, span.end});
  nlohmann::ordered_json targets = nlohmann::ordered_json::array();
  for (const std::string& query : document.target_queries) targets.push_back(to_valid_utf8(query));
  nlohmann::ordered_json out = head_json(attack, document.id);
  out["source_document"] = to_valid_utf8(document.source_document);
  out["target_queries"] = std::move(targets);
  out["changed"] = std::move(changed);
  out["fell_back"] = document.fell_back;
  out["note"] = document.note;
  if (!document.target_answer.empty()) out["target_answer"] = document.target_answer.for_json();
  if (!document.canary.empty()) out["canary"] = document.canary;
  if (document.trace) add_trace(*document.trace, out);
  if (document.paraphrase) {
    out["rewards_before"] = rewards_json(document.paraphrase->before);
    out["rewards_after"] = rewards_json(document.paraphrase->after);
    out["copies_run"] = document.paraphrase->copies_run;
    out["judge"] = to_valid_utf8(document.paraphrase->judge);
  }
  out["title"] = document.title.for_json();
  out["text"] = document.text.for_json();
  return out.dump();
}

std::string attack_record_json(const Attack& attack, const CraftedQuery& query) {
  nlohmann::ordered_json out = head_json(attack, query.id);
  out["anchor"] = to_valid_utf8(query.anchor);
  out["query"] = query.query.for_json();
  return out.dump();
}

}  // namespace casemate
