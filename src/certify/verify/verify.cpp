#include "casemate/certify/verify.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "certify/verify/checks.h"
#include "certify/verify/choices.h"

namespace casemate {
namespace {

void check_signature(const SignedCertificate& file, const VerifyOptions& options, verify::Checks& checks) {
  checks.add("the signature is of exactly these bytes, by the key in the file",
             verify_signature(file.signed_bytes, file.signature, file.public_key), to_hex(file.public_key));
  if (!options.key) return;
  checks.add("the key in the file is the one expected", file.public_key == *options.key, to_hex(*options.key));
}

std::vector<std::string> not_checked(const Certificate& certificate, const VerifyOptions& options) {
  std::vector<std::string> out = {"that the model produced these numbers (use --replay)"};
  if (!options.key) out.emplace_back("who signed it (use --key)");
  if (std::holds_alternative<DecodingEvidence>(certificate.evidence)) {
    out.emplace_back("that the answer is the text of the tokens (use --replay)");
  } else {
    out.emplace_back("that the votes or keywords are those of the groups' answers (use --replay)");
  }
  if (certificate.retrieval)
    out.emplace_back("that retrieval found these lists, and the passages given are its results");
  return out;
}

}  // namespace

bool Verification::holds() const {
  return std::all_of(checks.begin(), checks.end(), [](const CertificateCheck& check) { return check.holds; });
}

Result<Verification> verify_certificate(std::string_view file, const VerifyOptions& options) {
  auto read = read_certificate(file);
  if (!read) return read.error();
  verify::Checks checks;
  check_signature(*read, options, checks);
  const Certificate& certificate = read->certificate;
  try {
    if (const auto* voting = std::get_if<VotingEvidence>(&certificate.evidence)) {
      verify::check_voting(certificate, *voting, checks);
    } else if (const auto* keyword = std::get_if<KeywordEvidence>(&certificate.evidence)) {
      verify::check_keyword(certificate, *keyword, checks);
    } else if (const auto* decoding = std::get_if<DecodingEvidence>(&certificate.evidence)) {
      verify::check_decoding(certificate, *decoding, checks);
    }
    if (certificate.retrieval) verify::check_retrieval(certificate, *certificate.retrieval, checks);
  } catch (const verify::TooMuchWork&) {
    return Error{ErrorCode::kLimit,
                 "checking this certificate would take too long: there are too many choices of groups"};
  }
  Verification out;
  out.not_checked = not_checked(certificate, options);
  out.public_key = read->public_key;
  out.checks = std::move(checks).take();
  out.certificate = std::move(read->certificate);
  return out;
}

}  // namespace casemate
