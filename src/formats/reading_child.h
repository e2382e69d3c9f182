// formats/reading_child.h
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/child_process.h"
#include "casemate/formats/read_options.h"

namespace casemate {

/// Runs a program that reads a hostile file, confined within `limits`; errors name the limit that was passed.
/// `limit_addresses` false: child_memory_bytes is not applied. Error: Cancelled where `stop` asked, besides.
[[nodiscard]] Result<ChildOutput> run_reading_child(const std::string& program, std::vector<std::string> arguments,
                                                    std::string_view input, const ReadLimits& limits,
                                                    const std::stop_token& stop, bool limit_addresses = true);

}  // namespace casemate
