// certify/stopped.h
#pragma once

#include "casemate/core/status.h"

namespace casemate::certify {

/// What every search for a certificate returns once its caller asked it to stop.
inline Error stopped() { return {ErrorCode::kCancelled, "stopped while certifying"}; }

}  // namespace casemate::certify
