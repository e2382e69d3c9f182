// apps/casemate/environment.h
#pragma once

#include <string>
#include <vector>

namespace casemate::cli {

/// The variable's value; empty where it is not set.
[[nodiscard]] std::string environment_variable(const char* name);
/// NAME=value for all variables.
[[nodiscard]] std::vector<std::string> whole_environment();
/// The folder that the running program lies in.
[[nodiscard]] std::string program_folder();

}  // namespace casemate::cli
