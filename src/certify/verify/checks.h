// certify/verify/checks.h
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "casemate/certify/verify.h"
#include "certify/verify/choices.h"

namespace casemate::verify {

/// Collects what was checked, and what it cost.
class Checks {
 public:
  bool add(std::string what, bool holds, std::string detail = {}) {
    list_.push_back({std::move(what), holds, std::move(detail)});
    return holds;
  }
  [[nodiscard]] Work& work() { return work_; }
  [[nodiscard]] std::vector<CertificateCheck> take() && { return std::move(list_); }

 private:
  std::vector<CertificateCheck> list_;
  Work work_;
};

/// What the attacker of the claim has, in groups. Unstable groups are the attacker's from the start; of the stable ones
/// the worst choice of `taken` falls to the attacker.
struct Attacker {
  std::int64_t taken = 0;
  std::int64_t unstable = 0;
  [[nodiscard]] std::int64_t groups() const { return taken + unstable; }
};

/// `k_prime` passages reach as many groups as there are passages, or all.
[[nodiscard]] Attacker attacker_of(std::int64_t k_prime, std::int64_t stable, std::int64_t unstable);
/// A greedy answer whose path is this close may turn out otherwise in another batch.
[[nodiscard]] inline bool is_unstable(Billionths margin, Billionths epsilon) { return margin <= 2 * epsilon; }
/// True where an answer that declines does not abstain; abstaining without declining is fine.
[[nodiscard]] bool hides_abstention(const UntrustedText& answer, bool abstains);
/// Lower ASCII case, no ASCII punctuation except before a digit and "%" after one, no articles, single blanks.
[[nodiscard]] std::string normal_form(const std::string& text);

void check_voting(const Certificate& certificate, const VotingEvidence& evidence, Checks& checks);
void check_keyword(const Certificate& certificate, const KeywordEvidence& evidence, Checks& checks);
void check_decoding(const Certificate& certificate, const DecodingEvidence& evidence, Checks& checks);
void check_retrieval(const Certificate& certificate, const RetrievalEvidence& evidence, Checks& checks);

}  // namespace casemate::verify
