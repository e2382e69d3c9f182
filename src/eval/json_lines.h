// eval/json_lines.h
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "casemate/core/status.h"

namespace casemate {

/// Calls take(object, line number) for each line of a JSONL file that is not blank. What it returns, if not empty, is
/// what is wrong with the line. Error: InvalidInput with path and line, also where a line is no JSON object; NotFound,
/// Io, Limit (larger than 4 GiB).
[[nodiscard]] Status each_json_line(const std::string& path,
                                    const std::function<std::string(const nlohmann::json&, std::size_t)>& take);

/// The text of a field; empty where it is absent or no text.
[[nodiscard]] std::string text_of(const nlohmann::json& object, const char* field);

}  // namespace casemate
