// POST /v1/verify: checks a certificate.
#include "casemate/certify/verify.h"

#include "../services.h"

namespace casemate::server {
namespace {

Response verify(const Services& services, Exchange& exchange) {
  const auto body = read_object(exchange.request());
  if (const auto* wrong = std::get_if<ApiError>(&body)) return error_response(*wrong);
  const Json& json = std::get<Json>(body);
  std::string text;
  const Json* object = nullptr;
  std::string key_text;
  Fields fields(json);
  const auto found = json.find("certificate");
  if (found != json.end() && found->is_string()) {
    fields.text("certificate", text, services.limits().max_body_bytes);
  } else {
    fields.object("certificate", object).required();
  }
  fields.text("public_key", key_text, 64);
  if (const auto wrong = fields.finish()) return error_response(*wrong);
  // A certificate's file is one line of canonical JSON: the object that a client read from it gives the same bytes
  // again.
  if (object != nullptr) text = object->dump() + "\n";
  VerifyOptions options;
  if (!key_text.empty()) {
    const auto bytes = from_hex(key_text);
    PublicKey key{};
    if (!bytes || bytes->size() != key.size()) {
      fields.wrong("public_key", "must be 64 hexadecimal digits");
      return error_response(*fields.finish());
    }
    std::copy(bytes->begin(), bytes->end(), key.begin());
    options.key = key;
  }
  const auto verification = verify_certificate(text, options);
  if (!verification) return failed(services, exchange, verification.error());
  return json_response(Json::parse(to_json(*verification)));
}

}  // namespace

void add_verify_routes(Router& router, const Services& services) {
  router.add({"POST", "/v1/verify", Access::kReader, Lane::kQuery, services.limits().max_body_bytes,
              [&services](Exchange& exchange) { return verify(services, exchange); }});
}

}  // namespace casemate::server
