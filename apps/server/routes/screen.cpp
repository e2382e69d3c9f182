// POST /v1/screen: defences over candidates of somebody else's retriever. Nothing is stored.
#include <algorithm>
#include <cmath>
#include <set>

#include "../audit_log.h"
#include "../disclosure.h"
#include "../services.h"

namespace casemate::server {
namespace {

struct Given {
  std::string query;
  std::string policy;
  int top_k = 0;
  std::vector<std::string> ids;              ///< the client's names
  std::vector<PassageCandidate> candidates;  ///< chunk i + 1 is ids[i]
  std::vector<float> query_embedding;
};

std::optional<ApiError> read_candidate(const Json& value, const Limits& limits, Given& out) {
  const std::string where = "candidates[" + std::to_string(out.candidates.size()) + "]";
  if (!value.is_object())
    return ApiError{400, "invalid_request_error", "invalid_value", where + " must be an object {id, text}", where};
  PassageCandidate candidate;
  std::string id;
  std::string text;
  Fields fields(value, where + ".");
  fields.text("id", id, 2048).required();
  fields.text("text", text, limits.max_passage_bytes).required();
  fields.number("score", candidate.score).numbers("embedding", candidate.embedding, 65536);
  if (auto wrong = fields.finish()) return wrong;
  candidate.chunk = static_cast<ChunkId>(out.candidates.size()) + 1;
  candidate.document = id;
  candidate.content_hash = blake2b(text);
  candidate.text = UntrustedText(std::move(text));
  out.ids.push_back(std::move(id));
  out.candidates.push_back(std::move(candidate));
  return std::nullopt;
}

/// Unit length, as a store's vectors are.
bool normalise(std::vector<float>& row) {
  double sum = 0;
  for (const float value : row) sum += static_cast<double>(value) * static_cast<double>(value);
  if (sum <= 0 || !std::isfinite(sum)) return false;
  for (float& value : row) value = static_cast<float>(value / std::sqrt(sum));
  return true;
}

/// Embeddings of all or of none: the client's own must agree in length.
std::optional<ApiError> check_embeddings(Given& given) {
  const auto wrong = [](std::string what) {
    return ApiError{400, "invalid_request_error", "invalid_value", std::move(what), "candidates"};
  };
  const std::size_t dimension = given.query_embedding.size();
  if (dimension > 0 && !normalise(given.query_embedding)) return wrong("query_embedding has no direction");
  for (PassageCandidate& candidate : given.candidates) {
    if (candidate.embedding.size() != dimension)
      return wrong("give query_embedding and an embedding of the same length for every candidate, or none at all");
    if (dimension > 0 && !normalise(candidate.embedding)) return wrong("an embedding has no direction");
  }
  return std::nullopt;
}

Status embed(const Encoder& encoder, Given& given) {
  const std::string_view query = given.query;
  auto asked = encoder.encode_queries(std::span(&query, 1));
  if (!asked) return asked.error();
  given.query_embedding = std::move(asked->embeddings.values);
  std::vector<std::string_view> texts;
  for (const PassageCandidate& candidate : given.candidates) texts.push_back(candidate.text.bytes());
  const auto encoded = encoder.encode_passages(texts);
  if (!encoded) return encoded.error();
  for (std::size_t i = 0; i < given.candidates.size(); ++i) {
    const auto row = encoded->embeddings.row(i);
    given.candidates[i].embedding.assign(row.begin(), row.end());
  }
  return {};
}

/// A candidate on its way through the defences.
struct Screened {
  PassageCandidate passage;
  bool sanitised = false;
};

Result<std::vector<Screened>> apply(const RetrievalDefence& defence, const DefenceQuery& query,
                                    std::vector<Screened> before, int top_k, StageEvidence& stage,
                                    std::stop_token stop) {
  std::vector<PassageCandidate> candidates;
  for (const Screened& each : before) candidates.push_back(each.passage);
  stage.stage = std::string(defence.name());
  stage.parameters = defence.parameters();
  stage.parameters.emplace_back("top_k", std::to_string(top_k));
  stage.passages_in = before.size();
  auto ranking = defence.rank(query, candidates, top_k, std::move(stop));
  if (!ranking) return Error{ranking.error().code, stage.stage + ": " + ranking.error().message};
  stage.verdicts = std::move(ranking->verdicts);
  stage.notes = std::move(ranking->notes);
  std::set<ChunkId> judged;
  for (const Verdict& verdict : stage.verdicts) judged.insert(verdict.chunk);
  std::vector<Screened> after;
  for (DefendedPassage& kept : ranking->passages) {
    if (kept.candidate >= before.size()) continue;  // nothing may come in from elsewhere
    Screened next = before[kept.candidate];
    next.passage.score = kept.score;
    if (kept.text_out) {
      next.passage.text = *std::move(kept.text_out);
      next.sanitised = true;
    }
    after.push_back(std::move(next));
  }
  for (const PassageCandidate& candidate : candidates) {
    if (judged.contains(candidate.chunk)) continue;
    stage.verdicts.push_back({candidate.chunk,
                              candidate.document,
                              Decision::kDropped,
                              "not looked at: the places were filled by better-ranked passages",
                              {},
                              {}});
  }
  stage.passages_out = after.size();
  return after;
}

Result<std::vector<Screened>> run(const Screening& screening, const DefenceQuery& query, Given& given, int top_k,
                                  Evidence& evidence, const std::stop_token& stop) {
  std::vector<int> sizes(screening.defences.size() + 1, top_k);
  for (std::size_t i = screening.defences.size(); i-- > 0;)
    sizes[i] = std::max(sizes[i + 1], screening.defences[i]->pool_size(sizes[i + 1]));
  StageEvidence first;
  first.stage = "candidates";
  first.parameters = {{"top_k", std::to_string(top_k)}};
  first.notes = screening.notes;
  first.passages_in = first.passages_out = given.candidates.size();
  std::vector<Screened> passages;
  for (PassageCandidate& candidate : given.candidates) passages.push_back({std::move(candidate)});
  // Clients may send their candidates in any order.
  std::stable_sort(passages.begin(), passages.end(),
                   [](const Screened& a, const Screened& b) { return a.passage.score > b.passage.score; });
  evidence.stages.push_back(std::move(first));
  for (std::size_t i = 0; i < screening.defences.size(); ++i) {
    StageEvidence stage;
    auto after = apply(*screening.defences[i], query, std::move(passages), sizes[i + 1], stage, stop);
    if (!after) return after;
    passages = *std::move(after);
    evidence.stages.push_back(std::move(stage));
  }
  if (passages.size() > static_cast<std::size_t>(top_k)) passages.erase(passages.begin() + top_k, passages.end());
  return passages;
}

std::optional<ApiError> read_given(const Limits& limits, const Json& body, Given& out) {
  const Json* candidates = nullptr;
  Fields fields(body);
  fields.text("query", out.query, limits.max_question_bytes).required();
  fields.list("candidates", candidates, limits.max_candidates).required();
  fields.text("policy", out.policy, 128).integer("top_k", out.top_k, 1, limits.max_top_k);
  fields.numbers("query_embedding", out.query_embedding, 65536);
  if (out.query.find_first_not_of(" \t\r\n") == std::string::npos) fields.wrong("query", "must not be blank");
  if (auto wrong = fields.finish()) return wrong;
  for (const Json& candidate : *candidates) {
    if (auto wrong = read_candidate(candidate, limits, out)) return wrong;
  }
  return check_embeddings(out);
}

Response screen(const Services& services, Exchange& exchange) {
  const Request& request = exchange.request();
  const auto body = read_object(request);
  if (const auto* wrong = std::get_if<ApiError>(&body)) return error_response(*wrong);
  Given given;
  if (const auto wrong = read_given(services.limits(), std::get<Json>(body), given)) return error_response(*wrong);
  if (const auto wrong = check_question_tokens(services, given.query, "query")) return error_response(*wrong);
  const auto chosen = policy_for(services, request.caller, given.policy);
  if (const auto* wrong = std::get_if<ApiError>(&chosen)) return error_response(*wrong);
  const Policy& followed = *std::get<const Policy*>(chosen);
  if (withholds_passages(request.caller, followed)) return error_response(passages_protected());
  const auto screening = services.engine.screening(followed);
  if (!screening) return failed(services, exchange, screening.error());
  if (given.query_embedding.empty() && !given.candidates.empty() && services.engine.encoder() != nullptr &&
      !(*screening)->defences.empty()) {
    if (Status done = embed(*services.engine.encoder(), given); !done) return failed(services, exchange, done.error());
  }
  DefenceQuery query;
  query.text = UntrustedText(given.query);
  query.embedding = given.query_embedding;
  query.tenant = request.caller.tenant;
  Evidence evidence;
  evidence.policy = (*screening)->policy;
  const int top_k = given.top_k > 0 ? given.top_k : (*screening)->top_k;
  const auto passages = run(**screening, query, given, top_k, evidence, exchange.stop());
  if (!passages) return failed(services, exchange, passages.error());
  services.metrics.evidence(evidence);
  std::vector<Hit> hits;
  Json out_passages = Json::array();
  for (const Screened& each : *passages) {
    const std::string& id = given.ids[static_cast<std::size_t>(each.passage.chunk - 1)];
    out_passages.push_back({{"id", id},
                            {"candidate", each.passage.chunk},
                            {"rank", out_passages.size() + 1},
                            {"score", each.passage.score},
                            {"text", each.passage.text.for_json()},
                            {"sanitised", each.sanitised}});
    hits.emplace_back().document = id;
  }
  if (Status kept = record(services, request, given.query, evidence, hits, ""); !kept)
    return failed(services, exchange, kept.error());
  Json out = {{"query", given.query},
              {"policy", evidence.policy},
              {"passages", std::move(out_passages)},
              {"evidence", Json::parse(to_json(evidence))},
              {"trace_id", request.trace_id}};
  if (!sees_scores(services, request.caller)) hide_scores(out);
  return json_response(out);
}

}  // namespace

void add_screen_routes(Router& router, const Services& services) {
  router.add({"POST", "/v1/screen", Access::kReader, Lane::kQuery, services.limits().max_body_bytes,
              [&services](Exchange& exchange) { return screen(services, exchange); }});
}

}  // namespace casemate::server
