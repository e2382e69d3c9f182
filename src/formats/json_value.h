// formats/json_value.h
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "casemate/core/status.h"

namespace casemate {

/// Parses one JSON text. Strict (RFC 8259): NaN, Infinity, comments, trailing commas and broken UTF-8 are errors; an
/// object with the same key twice is an error too, since readers differ on which one counts. No recursion.
/// Error: InvalidInput, Limit (deeper than `max_nesting`), with the byte where it went wrong; no path.
[[nodiscard]] Result<nlohmann::json> parse_json(std::string_view text, int max_nesting);

}  // namespace casemate
