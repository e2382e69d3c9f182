// models/url.h
#pragma once

#include <string>
#include <string_view>

#include "casemate/core/status.h"

namespace casemate {

/// An https address, cut up.
struct Url {
  std::string host;    ///< a name, an IPv4 address, or an IPv6 address without its brackets
  std::string port;    ///< "443" where none is written
  std::string target;  ///< path and query, beginning with "/"; without the fragment

  /// host, or host:port where the port is not 443; brackets around IPv6.
  [[nodiscard]] std::string authority() const;
};

/// Error: InvalidArgument for anything but https, for user names, control characters, blanks and broken ports.
[[nodiscard]] Result<Url> parse_https_url(std::string_view text);
/// Where a redirect from `from` to `location` (absolute, or a path) leads. Error: as `parse_https_url`.
[[nodiscard]] Result<Url> resolve_redirect(const Url& from, std::string_view location);

}  // namespace casemate
