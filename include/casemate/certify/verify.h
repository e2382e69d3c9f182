// casemate/certify/verify.h
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/certify/certificate.h"

namespace casemate {

struct VerifyOptions {
  std::optional<PublicKey> key;  ///< whose certificate it must be; unset: the signer is not checked
};

/// One thing that was looked at.
struct CertificateCheck {
  std::string what;    ///< a sentence that is true where `holds`
  bool holds = false;  ///< false: it is not so
  std::string detail;  ///< the numbers, or what is wrong; safe to print
};

struct Verification {
  Certificate certificate;
  PublicKey public_key{};                ///< the key in the file
  std::vector<CertificateCheck> checks;  ///< every one that was made
  std::vector<std::string> not_checked;  ///< what no file can prove
  [[nodiscard]] bool holds() const;      ///< every check
};

/// Checks a certificate from its bytes alone: signature, counts, and every inequality that the claim needs. This is the
/// library casemate_verify, which shares no rule with the code that makes certificates and needs no model.
/// Error: what `read_certificate` says; Limit where a check would take too long. Thread-safe.
[[nodiscard]] Result<Verification> verify_certificate(std::string_view file, const VerifyOptions& options = {});

/// One object: holds, method, k_prime, passages, claim, answer, public_key, checks, assumptions, not_covered,
/// not_checked.
[[nodiscard]] std::string to_json(const Verification& found);

}  // namespace casemate
