// casemate/defend/calibration.h
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/store/store.h"

namespace casemate {

/// A threshold that was measured on a tenant's own corpus, and what it was measured for.
struct Calibration {
  std::string defence;  ///< "ragmask", "perplexity"
  std::string setting;  ///< everything that the value depends on: "mask_length_tokens=10 perturb=delete ..."
  double value = 0;
  std::string details_json = "{}";  ///< the trade-off behind it, for people and reports
};

/// Keeps it for `tenant`, in the place of one for the same defence and setting. Error: what the store says.
[[nodiscard]] Status write_calibration(Store& store, std::string_view tenant, const Calibration& calibration);

/// All of a tenant, by defence and setting. Error: Corrupt where the record is damaged; what the store says.
[[nodiscard]] Result<std::vector<Calibration>> read_calibrations(const Store& store, std::string_view tenant);

/// Error: InvalidArgument where there is none for this defence and setting, with the command that makes one.
[[nodiscard]] Result<double> calibrated_value(const Store* store, std::string_view tenant, std::string_view defence,
                                              std::string_view setting);

}  // namespace casemate
