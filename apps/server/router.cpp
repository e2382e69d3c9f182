#include "router.h"

#include "casemate/core/hash.h"
#include "casemate/core/utf8.h"

namespace casemate::server {
namespace {

constexpr std::string_view kArgument = "/{id}";

std::optional<std::string> decode(std::string_view text, bool plus_is_blank) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const auto byte = from_hex(text.substr(i + 1, 2));
      if (!byte || byte->size() != 1) return std::nullopt;
      out += *byte;
      i += 2;
    } else {
      out += plus_is_blank && text[i] == '+' ? ' ' : text[i];
    }
  }
  if (!is_valid_utf8(out) || out.find('\0') != std::string::npos) return std::nullopt;
  return out;
}

}  // namespace

Router::Match Router::find(std::string_view method, std::string_view path) const {
  Match match;
  for (const Route& route : routes_) {
    std::string_view pattern = route.path;
    std::string argument;
    if (pattern.ends_with(kArgument)) {
      pattern.remove_suffix(kArgument.size() - 1);
      if (!path.starts_with(pattern) || path.size() == pattern.size()) continue;
      argument = decode(path.substr(pattern.size()), false).value_or("");
    } else if (pattern != path) {
      continue;
    }
    match.allowed.push_back(route.method);
    if (route.method != method) continue;
    match.route = &route;
    match.argument = std::move(argument);
    return match;
  }
  return match;
}

std::optional<Target> parse_target(std::string_view target) {
  if (!target.starts_with('/')) return std::nullopt;
  const std::size_t mark = target.find('?');
  if (!decode(target.substr(0, mark), false)) return std::nullopt;
  Target out;
  out.path = target.substr(0, mark);
  if (mark != std::string_view::npos) out.query = target.substr(mark + 1);
  return out;
}

std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (pair.substr(0, equals) != name) continue;
    return decode(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1), true);
  }
  return std::nullopt;
}

}  // namespace casemate::server
