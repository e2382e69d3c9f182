// POST /v1/verify: checks a certificate.
#include "casemate/certify/verify.h"

#include "../services.h"

namespace casemate::server {
namespace {

Json verification_json(const Verification& found) {
  Json checks = Json::array();
  for (const CertificateCheck& check : found.checks)
    checks.push_back({{"check", check.what}, {"holds", check.holds}, {"detail", check.detail}});
  return {{"holds", found.holds()},
          {"method", method_name(found.certificate)},
          {"k_prime", found.certificate.k_prime},
          {"passages", found.certificate.passages.size()},
          {"claim", claim_of(found.certificate)},
          {"answer", found.certificate.answer.for_json()},
          {"public_key", to_hex(found.public_key)},
          {"checks", std::move(checks)},
          {"assumptions", assumptions_of(found.certificate)},
          {"not_covered", not_covered_by(found.certificate)},
          {"not_checked", found.not_checked}};
}

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
    fields.text("certificate", text, services.limits.max_body_bytes);
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
  return json_response(verification_json(*verification));
}

}  // namespace

void add_verify_routes(Router& router, const Services& services) {
  router.add({"POST", "/v1/verify", Access::kReader, Lane::kQuery, services.limits.max_body_bytes,
              [&services](Exchange& exchange) { return verify(services, exchange); }});
}

}  // namespace casemate::server
