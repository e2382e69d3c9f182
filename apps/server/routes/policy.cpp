// GET and PUT /v1/policy: which policy requests of the caller's tenant get that name none.
#include "../services.h"

namespace casemate::server {
namespace {

Json policy_json(const Engine& engine, const Caller& caller) {
  Json names = Json::array();
  for (const Policy& policy : engine.policies())
    names.push_back({{"name", policy.name}, {"description", policy.description}});
  return {{"policy", engine.default_policy(caller.tenant).name}, {"policies", std::move(names)}};
}

Response change(const Services& services, Exchange& exchange) {
  const Request& request = exchange.request();
  const auto body = read_object(request);
  if (const auto* wrong = std::get_if<ApiError>(&body)) return error_response(*wrong);
  std::string name;
  Fields fields(std::get<Json>(body));
  fields.text("policy", name, 256).required();
  if (const auto wrong = fields.finish()) return error_response(*wrong);
  if (name.empty()) {
    fields.wrong("policy", "must be the name of a policy");
    return error_response(*fields.finish());
  }
  if (Status set = services.engine.set_default_policy(request.caller.tenant, name); !set)
    return error_response(set.error());
  services.log.write(LogLevel::kInfo, "policy_changed",
                     {{"policy", services.engine.default_policy(request.caller.tenant).name},
                      {"tenant", request.caller.tenant},
                      {"key", request.caller.key}});
  return json_response(policy_json(services.engine, request.caller));
}

}  // namespace

void add_policy_routes(Router& router, const Services& services) {
  router.add({"GET", "/v1/policy", Access::kReader, Lane::kNow, 0, [&services](Exchange& exchange) {
                return json_response(policy_json(services.engine, exchange.request().caller));
              }});
  router.add({"PUT", "/v1/policy", Access::kAdmin, Lane::kNow, 4096,
              [&services](Exchange& exchange) { return change(services, exchange); }});
}

}  // namespace casemate::server
