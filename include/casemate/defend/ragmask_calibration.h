// casemate/defend/ragmask_calibration.h
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/defend/ragmask.h"

namespace casemate {

/// A question with its undefended pool, best first.
struct MaskCalibrationCase {
  DefenceQuery query;
  std::vector<PassageCandidate> candidates;  ///< pool_factor * top_k of them, as retrieval gives
  std::vector<std::size_t> relevant;         ///< indices of candidates that answer it; none: retrieval missed it
  std::vector<std::size_t> poisoned;         ///< indices of planted candidates; none for a clean corpus
};

struct MaskCalibrationSettings {
  int top_k = 5;                     ///< passages returned; in [1, 1000]
  double clean_success_loss = 0.02;  ///< share of all questions that may lose their answer; in [0, 1]
  std::vector<double> deltas;        ///< to try, ascending, at least 0; empty: quantiles of the clean drops
};

/// What one delta does.
struct MaskCalibrationPoint {
  double delta = 0;
  double clean_success = 0;              ///< share of the questions with a relevant passage among the first top_k
  double suspicious_share = 0;           ///< of the relevant passages' segments
  std::optional<double> attack_success;  ///< share of the attacked questions with a poisoned one among the first top_k
};

struct MaskCalibration {
  std::vector<MaskCalibrationPoint> curve;  ///< ascending delta; the last one finds nothing suspicious
  double delta = 0;                         ///< the least one from which on clean success stays within the loss
  double undefended_success = 0;
  std::optional<double> undefended_attack_success;
  std::vector<double> clean_drops;  ///< of the relevant passages' segments, ascending; its quantiles say what is usual
  std::size_t questions = 0;
  std::size_t attacked_questions = 0;
  std::size_t failed_passages = 0;  ///< could not be examined; left out
};

/// Measures RAGMask over a grid of deltas. Each passage is embedded with each segment perturbed once, whatever the
/// number of deltas; a sanitised passage once for each different set of suspicious segments. Deltas are absolute, or
/// shares of the similarity where `ragmask.options().delta_relative` is above 0. Screening is not used.
/// The delta it proposes is fitted to these questions: with n of them, success is known to about 1 / sqrt(n).
/// Error: InvalidArgument without cases or without any relevant passage; InvalidOption; as RagMask::examine; Cancelled.
[[nodiscard]] Result<MaskCalibration> calibrate_ragmask(const RagMask& ragmask,
                                                        std::span<const MaskCalibrationCase> cases,
                                                        const MaskCalibrationSettings& settings, std::stop_token stop);

/// The value below which a share `q` in [0, 1] of `sorted` lies (nearest rank); 0 for none.
[[nodiscard]] double quantile(std::span<const double> sorted, double q);

}  // namespace casemate
