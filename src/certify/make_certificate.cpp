#include "casemate/certify/make_certificate.h"

#include <map>
#include <utility>
#include <vector>

#include "casemate/certify/verify.h"

namespace casemate {
namespace {

void count_votes(VotingEvidence& evidence, Billionths epsilon) {
  evidence.counts.assign(evidence.letters.size(), 0);
  for (const VotingGroup& group : evidence.groups) {
    if (group.vote && *group.vote < evidence.counts.size() && group.margin > 2 * epsilon)
      ++evidence.counts[*group.vote];
  }
}

void count_words(KeywordEvidence& evidence, Billionths epsilon) {
  std::map<std::string, std::int64_t> counts;
  for (const KeywordGroup& group : evidence.groups) {
    if (!group.keywords || group.margin <= 2 * epsilon) continue;
    for (const std::string& word : *group.keywords) ++counts[word];
  }
  evidence.counts.assign(counts.begin(), counts.end());
}

/// A retrieval part whose claim would not follow from the rest is no part of the certificate.
bool composes(const Certificate& certificate) {
  const RetrievalEvidence& retrieval = *certificate.retrieval;
  return certificate.group_size == 1 && !certificate.positions_in_prompt &&
         retrieval.results.size() == certificate.passages.size() && certificate.k_prime >= retrieval.changed_at_most;
}

}  // namespace

Result<std::string> write_certificate(Certificate certificate, const SigningKey& key) {
  if (certificate.k_prime < 1) {
    return Error{ErrorCode::kInvalidArgument, "nothing is certified (k' = 0), so there is no certificate to write"};
  }
  if (auto* voting = std::get_if<VotingEvidence>(&certificate.evidence)) count_votes(*voting, certificate.epsilon);
  if (auto* keyword = std::get_if<KeywordEvidence>(&certificate.evidence)) count_words(*keyword, certificate.epsilon);
  if (certificate.retrieval && !composes(certificate)) certificate.retrieval.reset();
  const auto body = certificate_body(certificate);
  if (!body) return body.error();
  std::string file = sign_body(*body, key);
  // Nothing is signed that the verifier, which shares no rule with the makers, would refuse.
  const auto found = verify_certificate(file, {key.public_key()});
  if (!found) {
    const bool limit = found.error().code == ErrorCode::kLimit;
    return Error{limit ? ErrorCode::kLimit : ErrorCode::kInvalidArgument, found.error().message}.in("certificate");
  }
  for (const CertificateCheck& check : found->checks) {
    if (!check.holds)
      return Error{ErrorCode::kInvalidArgument, "it is not so that " + check.what + " (" + check.detail + ")"}.in(
          "certificate");
  }
  return file;
}

}  // namespace casemate
