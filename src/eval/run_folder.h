// eval/run_folder.h
#pragma once

#include <initializer_list>
#include <string>

#include "casemate/core/status.h"

namespace casemate {

/// Makes `out` and the folders in it for the run that `experiment` (JSON: everything that answers depend on) describes,
/// and keeps it as experiment.json. A folder of the same run is taken again, so that it goes on.
/// Error: Mismatch where experiment.json says something else; Io.
[[nodiscard]] Status claim_run_folder(const std::string& out, std::initializer_list<const char*> folders,
                                      const std::string& experiment);

}  // namespace casemate
