// src/eval/calibrate_defences.h
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "casemate/attack/attack.h"
#include "casemate/core/progress.h"
#include "casemate/defend/defences.h"
#include "casemate/store/store.h"

namespace casemate {

/// What thresholds that a chain leaves to calibration are measured on. Not owned.
struct CalibrationWork {
  Store* store = nullptr;    ///< holds the clean corpus; what is measured is kept in it
  DefenceServices services;  ///< of the chains
  std::string tenant;
  std::span<const AttackTarget> questions;  ///< none of those that the experiment asks
  int top_k = 5;
  std::uint64_t seed = 0;
};

/// Measures each threshold that `chains` leave to calibration (`ragmask` with `delta: auto` or `delta_relative: auto`,
/// `perplexity` without `max_perplexity`) once a store, as `casemate calibrate` does with its default loss, and returns
/// all of the store's as JSON: [{"defence", "setting", "value", "details"}, ...]; "[]" where no chain needs one. Error:
/// InvalidOption for fewer than 20 questions of which it is known what answers them; what calibration says; Cancelled.
[[nodiscard]] Result<std::string> calibrate_defences(std::span<const std::vector<DefenceChoice>> chains,
                                                     const CalibrationWork& work, Progress& progress,
                                                     std::stop_token stop);

}  // namespace casemate
