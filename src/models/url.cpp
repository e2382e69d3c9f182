#include "models/url.h"

#include <algorithm>

#include "casemate/core/untrusted_text.h"
#include "models/safe_name.h"

namespace casemate {
namespace {

constexpr std::size_t kMaxBytes = 16 * 1024;
constexpr std::string_view kScheme = "https://";

Error bad(std::string_view text, std::string_view why) {
  return {ErrorCode::kInvalidArgument,
          "address \"" + UntrustedText(std::string(text)).for_log() + "\" " + std::string(why)};
}

bool is_host(std::string_view host) {
  return !host.empty() && host.size() <= 253 && is_letter_or_digit(host.front()) &&
         std::all_of(host.begin(), host.end(), [](char c) { return is_letter_or_digit(c) || is_one_of(c, ".-"); });
}

bool is_ipv6(std::string_view host) {
  return host.size() >= 2 && host.size() <= 45 &&
         std::all_of(host.begin(), host.end(), [](char c) { return is_one_of(c, "0123456789abcdefABCDEF:."); });
}

}  // namespace

std::string Url::authority() const {
  std::string text = host.find(':') != std::string::npos ? "[" + host + "]" : host;
  if (port != "443") text += ":" + port;
  return text;
}

Result<Url> parse_https_url(std::string_view text) {
  if (text.size() > kMaxBytes) return bad(text.substr(0, 100), "is too long");
  // A control character could end the request line and begin a header of its own.
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; });
  if (!plain) return bad(text, "holds blanks, control characters or characters beyond ASCII");
  if (!text.starts_with(kScheme)) return bad(text, "must begin with https://");
  std::string_view rest = text.substr(kScheme.size());
  rest = rest.substr(0, rest.find('#'));
  const std::size_t host_end = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view authority = rest.substr(0, host_end);
  Url url;
  url.target = std::string(rest.substr(host_end));
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  if (authority.find('@') != std::string_view::npos) return bad(text, "must not hold a user name");
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos || !is_ipv6(authority.substr(1, close - 1))) return bad(text, "has no host");
    url.host = std::string(authority.substr(1, close - 1));
    authority.remove_prefix(close + 1);
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    if (!is_host(authority.substr(0, colon))) return bad(text, "has no host");
    url.host = std::string(authority.substr(0, colon));
    authority.remove_prefix(colon);
  }
  url.port = authority.empty() ? "443" : std::string(authority.substr(1));
  const bool port_ok = (authority.empty() || authority.front() == ':') && !url.port.empty() && url.port.size() <= 5 &&
                       std::all_of(url.port.begin(), url.port.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
                       std::stoi(url.port) >= 1 && std::stoi(url.port) <= 65535;
  if (!port_ok) return bad(text, "has no valid port");
  return url;
}

Result<Url> resolve_redirect(const Url& from, std::string_view location) {
  if (location.starts_with("//")) return parse_https_url("https:" + std::string(location));
  if (location.starts_with('/')) return parse_https_url("https://" + from.authority() + std::string(location));
  return parse_https_url(location);
}

}  // namespace casemate
