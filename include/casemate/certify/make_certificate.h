// casemate/certify/make_certificate.h
#pragma once

#include <string>

#include "casemate/certify/certificate.h"
#include "casemate/certify/outcome.h"

namespace casemate {

/// The file of a certificate: canonical JSON, signed. Counts are taken from the groups, texts are made valid UTF-8, the
/// retrieval part is left out unless it composes: group_size is 1, prompts tell no place, top_p passages, and
/// k_prime >= changed_at_most. `certificate.k_prime` comes from certify_voting, certify_keyword or certify_decoding.
/// Error: InvalidArgument for k' = 0 (there is nothing to claim), for evidence that does not fit the passages, or
/// keywords that are not valid UTF-8; Limit where the file would be larger than kMaxCertificateBytes.
[[nodiscard]] Result<std::string> write_certificate(Certificate certificate, const SigningKey& key);

/// The bytes that `write_certificate` signs are kCertificateDomain and these. No field is looked at.
[[nodiscard]] Result<std::string> certificate_body(const Certificate& certificate);
/// The file of a body, signed. For tests and for tools that sign elsewhere.
[[nodiscard]] std::string sign_body(const std::string& body, const SigningKey& key);

}  // namespace casemate
