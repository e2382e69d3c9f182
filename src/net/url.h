// net/url.h
#pragma once

#include <string>
#include <string_view>

#include "casemate/core/status.h"

namespace casemate {

/// An http or https address, cut up.
struct Url {
  bool tls = false;
  std::string host;    ///< a name, an IPv4 address, or an IPv6 address without its brackets
  std::string port;    ///< the scheme's own where none is written
  std::string target;  ///< path and query, beginning with "/"; without the fragment

  /// host, or host:port where the port is not the scheme's own; brackets around IPv6.
  [[nodiscard]] std::string authority() const;
  /// "https://host:port"; a port as in `authority`.
  [[nodiscard]] std::string origin() const;
};

/// Error: InvalidArgument for other schemes, user names, control characters, blanks, broken hosts and ports; the
/// message quotes the address without what may be a password.
[[nodiscard]] Result<Url> parse_url(std::string_view text);
/// The same for https alone.
[[nodiscard]] Result<Url> parse_https_url(std::string_view text);
/// The address of a service, to whose `target` paths are appended: without a "/" at its end (so it may be empty).
/// Error: as `parse_url`, and for queries and fragments.
[[nodiscard]] Result<Url> parse_base_url(std::string_view text);
/// Where a redirect from `from` to `location` (absolute, or a path) leads. Error: as `parse_https_url`.
[[nodiscard]] Result<Url> resolve_redirect(const Url& from, std::string_view location);

}  // namespace casemate
