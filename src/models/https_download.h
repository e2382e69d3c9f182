// models/https_download.h
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "casemate/core/status.h"
#include "models/part_file.h"
#include "net/http_client.h"

namespace casemate {

/// Fetches `address` (https) behind what `part` holds, until it has `bytes` bytes. Follows up to 5 redirects, to https
/// only. A server that ignores the range makes it begin anew; one that breaks off is asked again, up to 3 times in a
/// row without a byte gained. What was received stays in `part`. `on_bytes` is told the part's size. Error: NotFound
/// (refused by status 4xx), Unavailable (with status or reason), Timeout, Mismatch (another size), NoSpace, Io,
/// Cancelled; all with the address.
[[nodiscard]] Status download(const std::string& address, std::uint64_t bytes, PartFile& part,
                              const HttpOptions& options, const std::stop_token& stop,
                              const std::function<void(std::uint64_t)>& on_bytes);

}  // namespace casemate
