// apps/casemate/defaults.h
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "casemate/core/status.h"

namespace casemate::cli {

/// Gives options their defaults from the configuration file and from CASEMATE_* variables, before the command line is
/// parsed: flag > variable > file > default.
///
/// The file is YAML: global options at the top level, those of a command in a map of its name, long names with "_" or
/// "-". An option --top-k is the variable CASEMATE_TOP_K. Error: InvalidInput or InvalidOption, with file, line and the
/// nearest known name.
[[nodiscard]] Status apply_defaults(CLI::App& app, const std::string& config_file);

/// The variable of an option: "top-k" -> "CASEMATE_TOP_K".
[[nodiscard]] std::string variable_name(const std::string& option);

}  // namespace casemate::cli
