// casemate/certify/outcome.h
#pragma once

#include <cstdint>
#include <string>

#include "casemate/certify/certificate.h"

namespace casemate {

/// What one case of a certificate over a data set comes to. Over all cases of a question, the least tau counts.
struct CaseOutcome {
  bool certified = false;  ///< false: tau is 0, and `reason` says why
  double tau = 0;          ///< the least score that the attacker can bring about
  std::string reason;
  std::int64_t outcomes = 0;     ///< answers that were scored
  std::int64_t model_calls = 0;  ///< second prompts, or steps of decoding
};

/// One live question, as it was answered.
struct LiveSetting {
  std::int64_t passages = 10;      ///< k; >= 1, at most 64 for keyword and decoding
  std::int64_t group_size = 1;     ///< omega; >= 1
  Billionths epsilon = 1'000'000;  ///< error of one probability; in [0, kOne]. 0 only where the model repeats itself
                                   ///< exactly and every probability is a multiple of a billionth
};

/// The largest k' for which an emitted answer is forced.
struct LiveOutcome {
  std::int64_t k_prime = 0;  ///< 0: nothing is certified
  std::string limited_by;    ///< why not one more; empty where k' = k
};

}  // namespace casemate
