// Sanitizer and guard in the evidence's JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "casemate/sanitize/output_guard.h"
#include "casemate/sanitize/sanitizer.h"

namespace casemate {

[[nodiscard]] nlohmann::ordered_json sanitizer_json(const SanitizerRecord& record);
[[nodiscard]] nlohmann::ordered_json guard_json(const GuardReport& report);

}  // namespace casemate
