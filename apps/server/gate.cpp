#include "gate.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace casemate::server {
namespace {

/// The key of "Bearer KEY"; empty where there is none.
std::string_view bearer(std::string_view authorization) {
  static constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size()) return {};
  const bool matches = std::equal(kScheme.begin(), kScheme.end(), authorization.begin(),
                                  [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
  if (!matches) return {};
  authorization.remove_prefix(std::min(authorization.find_first_not_of(' ', kScheme.size()), authorization.size()));
  return authorization;
}

bool names_this_machine(std::string_view host) {
  // With the port taken off; an IPv6 address stands in brackets.
  const std::size_t colon = host.starts_with('[') ? host.find(':', host.find(']')) : host.find(':');
  std::string name(host.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  static constexpr std::array<std::string_view, 3> kLocal = {"localhost", "127.0.0.1", "[::1]"};
  return std::find(kLocal.begin(), kLocal.end(), name) != kLocal.end();
}

Response refusal(unsigned status, std::string code, std::string message) {
  Response response = error_response(ApiError{status, status == 429 ? "rate_limit_error" : "authentication_error",
                                              std::move(code), std::move(message)});
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace

std::variant<Caller, Response> Gate::admit(Access access, const Credentials& credentials) {
  Caller anyone;
  anyone.name = "anonymous";
  const bool local = access == Access::kLocalOrKey || access == Access::kLocalOrAdmin;
  if (access == Access::kOpen || (local && options_.loopback)) return anyone;
  const auto in_use = keys_ == nullptr ? Result<bool>(false) : keys_->in_use();
  if (!in_use) return error_response(in_use.error());
  if (!*in_use) {
    if (!options_.loopback) return refusal(401, "no_keys", "this server has no keys yet: casemate keys add makes one");
    if (!names_this_machine(credentials.host))
      return refusal(403, "wrong_host", "a server without keys answers to localhost, 127.0.0.1 and [::1] only");
    Caller here;
    here.name = "local";
    here.role = Role::kAdmin;
    here.tenant = options_.local_tenant;
    return here;
  }
  const auto found = keys_->find(bearer(credentials.authorization));
  if (!found) return error_response(found.error());
  if (!*found) return refusal(401, "invalid_api_key", "send a valid key, with the header Authorization: Bearer KEY");
  const bool admin = access == Access::kAdmin || access == Access::kLocalOrAdmin;
  const Role needed = admin ? Role::kAdmin : access == Access::kWriter ? Role::kWriter : Role::kReader;
  if ((*found)->role < needed) {
    return refusal(403, "forbidden",
                   "this needs a key with the role " + std::string(role_name(needed)) + ", not " +
                       std::string(role_name((*found)->role)));
  }
  if (const auto wait = rates_.take((*found)->key, std::chrono::steady_clock::now())) {
    Response response = refusal(429, "rate_limited", "this key has used up its requests for now");
    response.headers.emplace_back("Retry-After", std::to_string(std::max<std::int64_t>(1, wait->count())));
    return response;
  }
  return **found;
}

}  // namespace casemate::server
