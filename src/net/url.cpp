#include "net/url.h"

#include <algorithm>
#include <charconv>

#include "casemate/core/untrusted_text.h"

namespace casemate {
namespace {

constexpr std::size_t kMaxBytes = 16 * 1024;
constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";

/// What stands before an @ may be a password, which must not reach a log.
Error bad(std::string_view text, std::string_view why) {
  const std::size_t at = text.rfind('@');
  const std::string shown = at == std::string_view::npos ? std::string(text) : "***" + std::string(text.substr(at));
  return {ErrorCode::kInvalidArgument, "address \"" + UntrustedText(shown).for_log() + "\" " + std::string(why)};
}

bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter_or_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Names in private networks may have underscores, whatever DNS says of host names.
bool is_host(std::string_view host) {
  return !host.empty() && host.size() <= 253 && is_letter_or_digit(host.front()) &&
         std::all_of(host.begin(), host.end(), [](char c) { return is_letter_or_digit(c) || is_one_of(c, ".-_"); });
}

bool is_ipv6(std::string_view host) {
  return host.size() >= 2 && host.size() <= 45 &&
         std::all_of(host.begin(), host.end(), [](char c) { return is_one_of(c, "0123456789abcdefABCDEF:."); });
}

bool is_port(std::string_view port) {
  if (port.empty() || port.size() > 5 || !std::all_of(port.begin(), port.end(), is_digit)) return false;
  int value = 0;
  std::from_chars(port.data(), port.data() + port.size(), value);
  return value >= 1 && value <= 65535;
}

std::string_view own_port(bool tls) { return tls ? "443" : "80"; }

}  // namespace

std::string Url::authority() const {
  std::string text = host.find(':') != std::string::npos ? "[" + host + "]" : host;
  if (port != own_port(tls)) text += ":" + port;
  return text;
}

std::string Url::origin() const { return std::string(tls ? kHttps : kHttp) + authority(); }

Result<Url> parse_url(std::string_view text) {
  if (text.size() > kMaxBytes) return bad(text.substr(0, 100), "is too long");
  // A control character could end the request line and begin a header of its own.
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; });
  if (!plain) return bad(text, "holds blanks, control characters or characters beyond ASCII");
  Url url;
  url.tls = text.starts_with(kHttps);
  if (!url.tls && !text.starts_with(kHttp)) return bad(text, "must begin with http:// or https://");
  std::string_view rest = text.substr(url.tls ? kHttps.size() : kHttp.size());
  rest = rest.substr(0, rest.find('#'));
  const std::size_t host_end = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view authority = rest.substr(0, host_end);
  url.target = std::string(rest.substr(host_end));
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  if (authority.find('@') != std::string_view::npos) return bad(text, "must not hold a user name or password");
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
  if (authority.empty()) {
    url.port = own_port(url.tls);
    return url;
  }
  if (authority.front() != ':' || !is_port(authority.substr(1))) return bad(text, "has no valid port");
  url.port = std::string(authority.substr(1));
  return url;
}

Result<Url> parse_https_url(std::string_view text) {
  auto url = parse_url(text);
  if (url && !url->tls) return bad(text, "must begin with https://");
  return url;
}

Result<Url> parse_base_url(std::string_view text) {
  auto url = parse_url(text);
  if (!url) return url;
  if (text.find_first_of("?#") != std::string_view::npos)
    return bad(text, "holds a query or fragment; expected http(s)://host[:port][/path]");
  while (url->target.ends_with('/')) url->target.pop_back();
  return url;
}

Result<Url> resolve_redirect(const Url& from, std::string_view location) {
  if (location.starts_with("//")) return parse_https_url("https:" + std::string(location));
  if (location.starts_with('/')) return parse_https_url("https://" + from.authority() + std::string(location));
  return parse_https_url(location);
}

}  // namespace casemate
