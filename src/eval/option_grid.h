// src/eval/option_grid.h
#pragma once

#include <string>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/yaml_options.h"

namespace casemate {

/// An entry of an experiment as texts "NAME{option: value, ...}": a text as it is; a map {name: NAME, option: value or
/// list of values} as the product of its lists, the last one innermost. Error: InvalidInput for other forms; Limit for
/// more than 1000.
[[nodiscard]] Result<std::vector<std::string>> expand_grid(const YamlValue& entry);

}  // namespace casemate
