// What the benchmark programs do where something fails: say it and stop.
#pragma once

#include <cstdlib>
#include <iostream>

#include "casemate/core/status.h"

template <typename Value>
Value must(casemate::Result<Value> result) {
  if (result.ok()) return *std::move(result);
  std::cerr << result.error().message << '\n';
  std::exit(3);
}
