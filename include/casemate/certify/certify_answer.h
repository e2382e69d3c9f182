// casemate/certify/certify_answer.h
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "casemate/certify/certificate.h"
#include "casemate/certify/outcome.h"
#include "casemate/generate/robust_rag.h"

namespace casemate {

struct CertifyAnswerOptions {
  Billionths epsilon = 1'000'000;     ///< error of one probability; in [0, kOne]
  std::int64_t max_model_calls = 64;  ///< second prompts of keyword aggregation; in [1, 2^14]
  bool withhold_question = false;     ///< the certificate has the question's hash only
};

struct AnswerCertificate {
  std::int64_t k_prime = 0;                ///< the largest number of malicious passages that cannot change the answer
  std::string limited_by;                  ///< why not one more; empty where k' is all of them
  std::optional<Certificate> certificate;  ///< where k_prime >= 1; created_at is 0
  std::int64_t model_calls = 0;
};

/// What the answer of one live question is worth: the largest k' for which no k' of its passages can change it
/// (docs/certificates.md). `answer` must come from `answer_robustly` with these arguments and `options.trace` (needed
/// for decoding). Keyword aggregation runs second prompts on other hints that can come about; the other methods ask the
/// model nothing. Error: InvalidArgument for an answer that does not fit; what the model says; Cancelled.
[[nodiscard]] Result<AnswerCertificate> certify_answer(LanguageModel& model, const Question& question,
                                                       std::span<const PromptPassage> passages,
                                                       const RobustOptions& options, const RobustAnswer& answer,
                                                       const CertifyAnswerOptions& certify, std::stop_token stop = {});

}  // namespace casemate
