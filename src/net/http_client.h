// net/http_client.h
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "casemate/core/status.h"
#include "net/url.h"

namespace casemate {

struct HttpRequest {
  Url url{};
  std::string method = "GET";
  std::vector<std::pair<std::string, std::string>> headers;  ///< Host, Connection and Content-Length are made
  std::string body;
};

struct HttpOptions {
  int connect_timeout_ms = 10'000;   ///< for name look-up, connecting and TLS handshake together; >= 1
  int idle_timeout_ms = 60'000;      ///< silence afterwards; >= 1
  int total_timeout_ms = 0;          ///< for all of it; 0: no limit
  std::uint64_t max_body_bytes = 0;  ///< of the reply; 0: no limit
  bool verify_tls = true;            ///< false: certificate and host name are not checked
  std::string ca_file;               ///< PEM; empty: the system's authorities
  bool* was_sent = nullptr;          ///< where given: set to true once the server may have seen the request
};

/// What a reply says before its body. Redirects are not followed.
struct HttpHead {
  int status = 0;
  std::string content_type;
  std::string location;                         ///< of a redirect
  std::string retry_after;                      ///< as it is written
  std::string content_range;                    ///< of a 206
  std::optional<std::uint64_t> content_length;  ///< absent where the body is chunked
};

/// One HTTP/1.1 connection for one request, with deadlines, limits, TLS (1.2 or newer) and cancellation: open, send,
/// then the body piece by piece. Proxies are not supported. One thread at a time.
///
/// Error of each call: Unavailable (look-up, connection, TLS, a reply cut short), Timeout, Limit, InvalidInput (no
/// HTTP), InvalidOption (`ca_file`), Cancelled. Each but the last names the host, none anything of the request's
/// headers.
class HttpConnection {
 public:
  [[nodiscard]] static Result<HttpConnection> open(const Url& url, HttpOptions options, std::stop_token stop);
  ~HttpConnection();
  HttpConnection(HttpConnection&&) noexcept;
  HttpConnection& operator=(HttpConnection&&) noexcept;

  /// Sends `request`, whose `url` names the opened place, and reads the head of the reply. Once.
  [[nodiscard]] Result<HttpHead> send(const HttpRequest& request);
  /// The next piece of the body, empty at its end; it stays until the next call.
  [[nodiscard]] Result<std::string_view> read();

 private:
  struct State;
  explicit HttpConnection(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct HttpResponse {
  HttpHead head;
  std::string body;  ///< what `on_body` did not take
};

/// Receives body bytes of replies with status 200 as they come; false ends the request without an error.
using OnBody = std::function<bool(std::string_view bytes)>;

/// A whole request over a connection of its own. Error: as above.
[[nodiscard]] Result<HttpResponse> send_http(const HttpRequest& request, const HttpOptions& options,
                                             const std::stop_token& stop, const OnBody& on_body = {});

}  // namespace casemate
