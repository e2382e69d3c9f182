// casemate/pipeline/replay.h
#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/certify/verify.h"
#include "casemate/core/progress.h"
#include "casemate/generate/vanilla.h"
#include "casemate/llm/language_model.h"
#include "casemate/store/store.h"

namespace casemate {

/// The passages of a certificate, found again by their hashes, in its order. Reads all passages of the tenant.
/// Error: NotFound, naming how many are not there any more; what the store says; Cancelled.
[[nodiscard]] Result<std::vector<PromptPassage>> find_passages(const Store& store, std::string_view tenant,
                                                               const Certificate& certificate, Progress& progress,
                                                               std::stop_token stop = {});

/// Asks the model again and compares: same model and prompts, same answers of the groups, same probabilities to within
/// epsilon, same answer, and a claim that is as strong. What `verify_certificate` cannot know from a file. `options`
/// are those of a multiple choice. Error: InvalidArgument where the certificate withholds the question, or a multiple
/// choice comes without its options; Mismatch for other options; what
/// the model says; Cancelled. A remote model's file is unknown, so its check never holds.
[[nodiscard]] Result<std::vector<CertificateCheck>> replay_certificate(const Certificate& certificate,
                                                                       std::span<const PromptPassage> passages,
                                                                       std::span<const UntrustedText> options,
                                                                       LanguageModel& model, std::stop_token stop = {});

}  // namespace casemate
