// models/https_session.h
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "casemate/core/status.h"
#include "models/url.h"

namespace casemate {

struct HttpsOptions {
  std::string ca_file;             ///< PEM; empty: the system's authorities
  int connect_timeout_ms = 5'000;  ///< for name look-up, connection and handshake, each
  int idle_timeout_ms = 30'000;    ///< silence afterwards
};

/// What a response says before its body.
struct HttpsHead {
  int status = 0;
  std::string location;                         ///< of a redirect
  std::string content_range;                    ///< of a 206
  std::optional<std::uint64_t> content_length;  ///< absent where the body is chunked
};

/// One HTTPS connection for one GET: connect, head, body piece by piece. Certificate and host name are always checked.
/// One thread at a time. Proxies are not supported. Error of each call: Unavailable, Timeout, Cancelled; without the
/// address.
class HttpsSession {
 public:
  HttpsSession(HttpsOptions options, std::stop_token stop);
  ~HttpsSession();
  HttpsSession(const HttpsSession&) = delete;
  HttpsSession& operator=(const HttpsSession&) = delete;

  [[nodiscard]] Status connect(const Url& url);
  /// Sends the request, from byte `begin` on, and reads the head.
  [[nodiscard]] Result<HttpsHead> get(const Url& url, std::uint64_t begin);
  /// The next piece of the body, valid until the next call; empty at its end. Error: Unavailable also where the
  /// connection ends before the body does.
  [[nodiscard]] Result<std::string_view> read();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace casemate
