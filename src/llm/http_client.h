// A small HTTP/1.1 client with deadlines, limits, TLS and cancellation. One connection a request.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "casemate/core/status.h"

namespace casemate::llm {

struct Url {
  bool tls = false;
  std::string host;  ///< without brackets
  std::string port;
  std::string path;  ///< "/..." or empty
};
/// Error: InvalidOption, with what is wrong. User names, queries, fragments, blanks and controls are refused.
[[nodiscard]] Result<Url> parse_url(std::string_view text);

struct HttpRequest {
  Url url;  ///< `path` is the whole target
  std::string method = "POST";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

struct HttpOptions {
  int connect_timeout_ms = 10000;
  int idle_timeout_ms = 60000;
  int total_timeout_ms = 300000;
  std::uint64_t max_body_bytes = 16U << 20U;
  bool verify_tls = true;
  std::string ca_file;
  bool* was_sent = nullptr;  ///< where given: set to true once the server may have seen the request
};

struct HttpResponse {
  int status = 0;
  std::string retry_after;
  std::string content_type;
  std::string body;      ///< what `on_body` did not take
  std::string location;  ///< of a redirect; redirects are not followed
};

/// Receives body bytes of replies with status 200 as they come; false ends the request without an error.
using OnBody = std::function<bool(std::string_view bytes)>;

/// Error: Unavailable (look-up, connection, TLS, a reply cut short), Timeout, Limit, InvalidInput (no HTTP), Cancelled.
/// Each names host and port, none anything of the request's headers.
[[nodiscard]] Result<HttpResponse> send_http(const HttpRequest& request, const HttpOptions& options,
                                             const std::stop_token& stop, const OnBody& on_body = {});

}  // namespace casemate::llm
