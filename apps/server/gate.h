// Who may come in: keys, roles, rates, and what a server without keys believes.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "api_error.h"
#include "key_store.h"
#include "rate_limiter.h"
#include "router.h"

namespace casemate::server {

struct GateOptions {
  bool loopback = true;                  ///< the server listens on a loopback address
  std::string local_tenant = "default";  ///< of callers where no key is needed
  int requests_per_minute = 600;         ///< of one key; 0: no limit
};

/// The headers that it looks at.
struct Credentials {
  std::string_view authorization;
  std::string_view host;
};

/// Thread-safe.
class Gate {
 public:
  /// `keys` may be null: then nobody needs one. It must outlive the gate.
  Gate(const KeyStore* keys, const GateOptions& options)
      : keys_(keys), options_(options), rates_(options.requests_per_minute) {}

  /// The caller, or why not: 401 without a valid key, 403 for a role that may not, 429 with Retry-After.
  /// Without keys everyone on this machine is an administrator, but a page in a browser is not: `Host` must name this
  /// machine, so that no foreign name that resolves to 127.0.0.1 gets in.
  [[nodiscard]] std::variant<Caller, Response> admit(Access access, const Credentials& credentials);
  /// Of one key, from the next request on; 0: no limit.
  void set_rate(int requests_per_minute) { rates_.set(requests_per_minute); }

 private:
  const KeyStore* keys_;
  GateOptions options_;
  RateLimiter rates_;
};

}  // namespace casemate::server
