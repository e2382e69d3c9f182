// GET /health, /ready, /metrics.
#include <filesystem>

#include "../services.h"

namespace casemate::server {
namespace {

constexpr std::uintmax_t kLeastFreeBytes = 64U << 20U;

Json check(std::string name, bool good, std::string detail) {
  return {{"name", std::move(name)}, {"ok", good}, {"detail", std::move(detail)}};
}

Response ready(const Services& services) {
  const Engine& engine = services.engine;
  Json checks = Json::array();
  checks.push_back(check("accepting", !services.draining(), services.draining() ? "the server is ending" : ""));
  if (const Store* store = engine.store(); store != nullptr) {
    const std::size_t damaged = store->open_report().damaged.size();
    checks.push_back(check("store", damaged == 0, damaged == 0 ? "" : "has damaged segments, which are not served"));
    std::error_code code;
    const auto space = std::filesystem::space(store->path(), code);
    const bool room = !code && space.available >= kLeastFreeBytes;
    checks.push_back(check("disk", room, room ? "" : "is nearly full"));
  }
  checks.push_back(check("encoder", true, engine.encoder() != nullptr ? engine.encoder()->info().model : "none"));
  checks.push_back(check("model", true, engine.model() != nullptr ? engine.model()->info().name : "none"));
  bool all = true;
  // Damage is told and served around; what is missing altogether stopped the server from starting.
  for (const Json& each : checks) all = all && (each["ok"].get<bool>() || each["name"] == "store");
  return json_response({{"ready", all}, {"checks", checks}}, all ? 200 : 503);
}

}  // namespace

void add_health_routes(Router& router, const Services& services) {
  router.add({"GET", "/health", Access::kOpen, Lane::kNow, 0, [](Exchange&) {
                return json_response({{"status", "ok"}});
              }});
  router.add({"GET", "/ready", Access::kOpen, Lane::kNow, 0, [&services](Exchange&) { return ready(services); }});
  router.add({"GET", "/metrics", Access::kLocalOrAdmin, Lane::kNow, 0, [&services](Exchange&) {
                Response response;
                response.content_type = "text/plain; version=0.0.4; charset=utf-8";
                response.body = services.metrics.text(services.queue);
                return response;
              }});
}

}  // namespace casemate::server
