#pragma once

#include "store_state.h"

namespace casemate {

/// `Store::compact`. Throws Failure.
[[nodiscard]] CompactReport compact(StoreState& store);

}  // namespace casemate
