#pragma once

#include "store_state.h"

namespace casemate {

/// `Store::check`. Throws Failure where not even checking is possible.
[[nodiscard]] CheckReport check(StoreState& store);

}  // namespace casemate
