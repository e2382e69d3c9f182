// casemate/pipeline/calibrate.h
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "casemate/core/progress.h"
#include "casemate/core/status.h"
#include "casemate/defend/calibration.h"
#include "casemate/defend/ragmask_calibration.h"
#include "casemate/retrieve/retriever.h"

namespace casemate {

class LanguageModel;

/// A question and the document that answers it.
struct CalibrationQuestion {
  UntrustedText question;
  std::string document;
};

struct RagMaskCalibrationOptions {
  RagMaskOptions ragmask;
  bool relative = false;  ///< look for a share of the similarity instead of an absolute drop
  int top_k = 5;
  double clean_success_loss = 0.02;  ///< share of the questions that may lose their answer; in [0, 1]
  /// Also plant, for each question, the question itself before a passage that does not answer it, so that the curve
  /// shows attack success too.
  bool attack = true;
  std::uint64_t seed = 0;
};

/// Retrieves the undefended pool of each question and measures RAGMask on it. Error: InvalidInput where no question's
/// document was retrieved; what retrieval, store and RAGMask say; Cancelled.
[[nodiscard]] Result<MaskCalibration> calibrate_ragmask_on(const Store& store, const Encoder& encoder,
                                                           const Retriever& retriever, PassageCache* cache,
                                                           std::string_view tenant,
                                                           std::span<const CalibrationQuestion> questions,
                                                           const RagMaskCalibrationOptions& options, Progress& progress,
                                                           std::stop_token stop);

/// What is kept of it for RAGMask under `options`: the proposed delta, and the curve behind it as details.
[[nodiscard]] Calibration ragmask_calibration(const MaskCalibration& measured, const RagMaskOptions& options,
                                              bool relative);

/// Questions that the model asks about `count` passages drawn from the tenant's. Error: InvalidInput for a tenant
/// without passages; what store and model say; Cancelled.
[[nodiscard]] Result<std::vector<CalibrationQuestion>> generate_questions(const Store& store, std::string_view tenant,
                                                                          LanguageModel& model, int count,
                                                                          std::uint64_t seed, Progress& progress,
                                                                          std::stop_token stop);

struct PerplexityCalibration {
  double threshold = 0;
  std::vector<double> values;  ///< of the passages that were read, ascending
  std::size_t too_short = 0;
};

/// The perplexity that a share `false_positive_rate` in (0, 1) of the tenant's passages lies above, over `sample`
/// passages drawn at random. Error: InvalidInput for fewer than 20 passages; what store and model say; Cancelled.
[[nodiscard]] Result<PerplexityCalibration> calibrate_perplexity(const Store& store, std::string_view tenant,
                                                                 LanguageModel& model, double false_positive_rate,
                                                                 int sample, std::uint64_t seed, Progress& progress,
                                                                 std::stop_token stop);

/// Shares of the passages for which `perplexity_calibration` tells the perplexity that they lie above.
inline constexpr double kSharesAbovePerplexity[] = {0.5, 0.25, 0.1, 0.05, 0.02, 0.01, 0.005};

/// What is kept of it for `model`.
[[nodiscard]] Calibration perplexity_calibration(const PerplexityCalibration& measured, const LanguageModel& model,
                                                 double false_positive_rate);

}  // namespace casemate
