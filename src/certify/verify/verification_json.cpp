#include <nlohmann/json.hpp>

#include "casemate/certify/verify.h"
#include "casemate/core/hash.h"

namespace casemate {

std::string to_json(const Verification& found) {
  using Json = nlohmann::ordered_json;
  Json checks = Json::array();
  for (const CertificateCheck& check : found.checks)
    checks.push_back({{"check", check.what}, {"holds", check.holds}, {"detail", check.detail}});
  return Json{{"holds", found.holds()},
              {"method", method_name(found.certificate)},
              {"k_prime", found.certificate.k_prime},
              {"passages", found.certificate.passages.size()},
              {"claim", claim_of(found.certificate)},
              {"answer", found.certificate.answer.for_json()},
              {"public_key", to_hex(found.public_key)},
              {"checks", std::move(checks)},
              {"assumptions", assumptions_of(found.certificate)},
              {"not_covered", not_covered_by(found.certificate)},
              {"not_checked", found.not_checked}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace casemate
