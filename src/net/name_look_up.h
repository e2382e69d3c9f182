// net/name_look_up.h
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <stop_token>
#include <vector>

#include "casemate/core/status.h"
#include "net/url.h"

namespace casemate {

/// The addresses of `url`'s host, in the system's order; at once where it is an address itself. Error: Timeout at
/// `end`, Cancelled, Unavailable where the name is not known; without the host.
[[nodiscard]] Result<std::vector<boost::asio::ip::tcp::endpoint>> look_up(const Url& url,
                                                                          std::chrono::steady_clock::time_point end,
                                                                          const std::stop_token& stop);

}  // namespace casemate
