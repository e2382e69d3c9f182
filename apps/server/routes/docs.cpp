// GET /openapi.json and /docs.
#include "../services.h"
#include "embedded.h"

namespace casemate::server {

void add_docs_routes(Router& router) {
  router.add({"GET", "/openapi.json", Access::kLocalOrKey, Lane::kNow, 0, [](Exchange&) {
                Response response;
                response.body = kOpenApiJson;
                return response;
              }});
  router.add({"GET", "/docs", Access::kLocalOrKey, Lane::kNow, 0, [](Exchange&) {
                Response response;
                response.content_type = "text/html; charset=utf-8";
                response.body = kDocsHtml;
                response.headers.emplace_back("Content-Security-Policy",
                                              "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; "
                                              "style-src 'unsafe-inline'; frame-ancestors 'none'");
                return response;
              }});
}

}  // namespace casemate::server
