#include <nlohmann/json.hpp>
#include <utility>

#include "casemate/certify/make_certificate.h"

namespace casemate {
namespace {

using Json = nlohmann::json;  // keys in order of their bytes, which is the canonical one

Json to_json(const SparseProbabilities& probabilities) {
  Json listed = Json::array();
  for (const TokenProbability& entry : probabilities.listed) {
    listed.push_back(entry.token);
    listed.push_back(entry.probability);
  }
  return {{"largest_unlisted", probabilities.largest_unlisted}, {"listed", std::move(listed)}};
}

Json evidence_json(const VotingEvidence& evidence) {
  Json groups = Json::array();
  for (const VotingGroup& group : evidence.groups) {
    groups.push_back({{"answer", group.answer.for_json()}, {"margin", group.margin}, {"vote", nullptr}});
    if (group.vote) groups.back()["vote"] = *group.vote;
  }
  return {{"counts", evidence.counts},
          {"groups", std::move(groups)},
          {"letters", evidence.letters},
          {"max_new_tokens", evidence.max_new_tokens},
          {"winner", evidence.winner}};
}

Json evidence_json(const KeywordEvidence& evidence) {
  Json groups = Json::array();
  for (const KeywordGroup& group : evidence.groups) {
    groups.push_back({{"answer", group.answer.for_json()}, {"keywords", nullptr}, {"margin", group.margin}});
    if (group.keywords) groups.back()["keywords"] = *group.keywords;
  }
  Json counts = Json::array();
  for (const auto& [word, count] : evidence.counts) counts.push_back(Json::array({word, count}));
  Json sets = Json::array();
  for (const HintSet& set : evidence.hint_sets) {
    sets.push_back({{"answer", set.answer.for_json()}, {"keywords", set.keywords}, {"margin", set.margin}});
  }
  return {{"alpha", evidence.alpha},
          {"beta", evidence.beta},
          {"counts", std::move(counts)},
          {"groups", std::move(groups)},
          {"hint_sets", std::move(sets)},
          {"kept", evidence.kept},
          {"long_answers", evidence.long_answers},
          {"max_new_tokens", evidence.max_new_tokens}};
}

Json evidence_json(const DecodingEvidence& evidence) {
  Json groups = Json::array();
  for (const DecodingGroup& group : evidence.groups) groups.push_back({{"refusal", group.refusal}});
  Json steps = Json::array();
  for (const DecodingStep& step : evidence.steps) {
    Json lists = Json::array();
    for (const auto& group : step.groups) lists.push_back(group ? to_json(*group) : Json());
    steps.push_back({{"groups", std::move(lists)}, {"no_retrieval", step.no_retrieval}, {"token", step.token}});
  }
  return {{"end_tokens", evidence.end_tokens},
          {"eta", evidence.eta},
          {"gamma", evidence.gamma},
          {"groups", std::move(groups)},
          {"max_new_tokens", evidence.max_new_tokens},
          {"steps", std::move(steps)}};
}

Json to_json(const RetrievalEvidence& evidence) {
  Json lists = Json::array();
  for (const RetrievalList& list : evidence.lists) {
    Json entries = Json::array();
    for (const RetrievalEntry& entry : list.entries) entries.push_back({entry.passage, entry.sum});
    lists.push_back({{"entries", std::move(entries)}, {"subset", list.subset}});
  }
  return {{"changed_at_most", evidence.changed_at_most},
          {"combination", evidence.combination},
          {"fragments", evidence.fragments},
          {"kept_votes", evidence.kept_votes},
          {"lists", std::move(lists)},
          {"one", evidence.one},
          {"outsider_votes", evidence.outsider_votes},
          {"planted", evidence.planted},
          {"planted_at_most", evidence.planted_at_most},
          {"planted_votes", evidence.planted_votes},
          {"poisoned_fragments", evidence.poisoned_fragments},
          {"results", evidence.results},
          {"s_max", evidence.s_max},
          {"top_p", evidence.top_p}};
}

Json optional_hash(const std::optional<Digest>& hash) { return hash ? Json(to_hex(*hash)) : Json(); }

Json body_json(const Certificate& certificate) {
  Json body;
  body["answer"] = certificate.answer.for_json();
  body["assumptions"] = assumptions_of(certificate);
  body["casemate_certificate"] = kCertificateFormat;
  body["claim"] = claim_of(certificate);
  body["created_at"] = certificate.created_at;
  body["epsilon"] = certificate.epsilon;
  body["evidence"] = std::visit([](const auto& evidence) { return evidence_json(evidence); }, certificate.evidence);
  body["group_size"] = certificate.group_size;
  body["k_prime"] = certificate.k_prime;
  body["method"] = method_name(certificate);
  body["model"] = {
      {"hash", certificate.model.hash}, {"name", certificate.model.name}, {"vocabulary", certificate.model.vocabulary}};
  body["not_covered"] = not_covered_by(certificate);
  body["passages"] = Json::array();
  for (const Digest& hash : certificate.passages) body["passages"].push_back(to_hex(hash));
  body["positions_in_prompt"] = certificate.positions_in_prompt;
  body["prompts"] = {{"group", to_hex(certificate.prompts.group)},
                     {"second", optional_hash(certificate.prompts.second)},
                     {"without_retrieval", optional_hash(certificate.prompts.without_retrieval)}};
  body["question"] = {{"hash", to_hex(certificate.question.hash)}, {"text", nullptr}};
  if (certificate.question.text) body["question"]["text"] = certificate.question.text->for_json();
  body["retrieval"] = certificate.retrieval ? to_json(*certificate.retrieval) : Json();
  return body;
}

}  // namespace

Result<std::string> certificate_body(const Certificate& certificate) {
  try {
    return body_json(certificate).dump();
  } catch (const Json::exception&) {
    return Error{ErrorCode::kInvalidArgument,
                 "a keyword, letter or name is not valid UTF-8 (make it so before keywords are taken)"};
  }
}

std::string sign_body(const std::string& body, const SigningKey& key) {
  const Signature signature = key.sign(std::string(kCertificateDomain) + body);
  return "{\"body\":" + body + ",\"public_key\":\"" + to_hex(key.public_key()) + "\",\"signature\":\"" +
         to_hex(signature) + "\"}\n";
}

}  // namespace casemate
