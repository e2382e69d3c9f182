// src/eval/numbered_lines.h
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "casemate/core/status.h"

namespace casemate {

/// Calls take(line, number from 1) for each line of `text`, without a byte order mark before the first; what it
/// returns, if not empty, is what is wrong with the line. Error: InvalidInput, `name:number: what`.
[[nodiscard]] Status each_numbered_line(std::string_view text, std::string_view name,
                                        const std::function<std::string(std::string_view, std::size_t)>& take);

}  // namespace casemate
