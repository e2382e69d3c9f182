// POST /v1/retrieve: defended retrieval over the server's store.
#include "../audit_log.h"
#include "../disclosure.h"
#include "../services.h"

namespace casemate::server {
namespace {

Response retrieve(const Services& services, Exchange& exchange) {
  const Request& request = exchange.request();
  const auto body = read_object(request);
  if (const auto* wrong = std::get_if<ApiError>(&body)) return error_response(*wrong);
  std::string query;
  std::string policy;
  std::string mode;
  int top_k = 0;
  QueryOptions options;
  options.tenant = request.caller.tenant;
  Fields fields(std::get<Json>(body));
  fields.text("query", query, services.limits().max_question_bytes).required();
  fields.integer("top_k", top_k, 1, services.limits().max_top_k).text("policy", policy, 128).text("mode", mode, 32);
  fields.boolean("explain", options.explain);
  read_filter(fields, "filter", request.caller, options.filter);
  if (const auto wrong = fields.finish()) return error_response(*wrong);
  if (const auto wrong = check_question_tokens(services, query, "query")) return error_response(*wrong);
  if (top_k > 0) options.top_k = top_k;
  if (!mode.empty()) {
    const auto parsed = parse_retrieval_mode(mode);
    if (!parsed) return error_response(parsed.error());
    options.mode = *parsed;
  }
  const auto chosen = policy_for(services, request.caller, policy);
  if (const auto* wrong = std::get_if<ApiError>(&chosen)) return error_response(*wrong);
  const Policy& followed = *std::get<const Policy*>(chosen);
  if (withholds_passages(request.caller, followed)) return error_response(passages_protected());
  const auto pipeline = services.engine.pipeline(followed);
  if (!pipeline) return failed(services, exchange, pipeline.error());
  const auto result = (*pipeline)->search(UntrustedText(query), options, exchange.stop());
  if (!result) return failed(services, exchange, result.error());
  services.metrics.evidence(result->evidence);
  if (Status kept = record(services, request, query, result->evidence, result->hits, ""); !kept)
    return failed(services, exchange, kept.error());
  Json out = Json::parse(to_json(*result));
  out["trace_id"] = request.trace_id;
  hide_folders(services, out);
  if (!sees_scores(services, request.caller)) hide_scores(out);
  return json_response(out);
}

}  // namespace

void add_retrieve_routes(Router& router, const Services& services) {
  router.add({"POST", "/v1/retrieve", Access::kReader, Lane::kQuery, services.limits().max_body_bytes,
              [&services](Exchange& exchange) { return retrieve(services, exchange); }});
}

}  // namespace casemate::server
