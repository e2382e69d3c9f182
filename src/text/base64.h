// src/text/base64.h
#pragma once

#include <string>
#include <string_view>

#include "casemate/core/status.h"

namespace casemate {

/// Standard base64 with padding. Error: InvalidInput.
[[nodiscard]] Result<std::string> decode_base64(std::string_view text);

}  // namespace casemate
