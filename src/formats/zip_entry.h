// formats/zip_entry.h
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "casemate/core/status.h"

namespace casemate {

struct ZipLimits {
  std::uint64_t max_bytes = 0;  ///< unpacked
  int max_ratio = 0;            ///< unpacked over packed, above 1 MiB
};

/// Unpacks the one entry of a zip file whose name `wanted` accepts, into memory; nothing is ever written to disk, so
/// names such as "../x" do no harm. Sizes are counted while unpacking: those in the file are not believed. Error:
/// NotFound where there is none; InvalidInput (broken, encrypted, two such entries), Limit. Without a path.
[[nodiscard]] Result<std::string> read_zip_entry(const std::string& path,
                                                 const std::function<bool(std::string_view)>& wanted,
                                                 const ZipLimits& limits);

}  // namespace casemate
