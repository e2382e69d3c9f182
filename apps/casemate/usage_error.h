// apps/casemate/usage_error.h
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace casemate::cli {

/// What to say about `error`, which parsing the command line for `app` gave: an unknown command or option comes with
/// the nearest known one. Safe to print.
[[nodiscard]] std::string describe_usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace casemate::cli
