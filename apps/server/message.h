// What routes see of HTTP: plain structs, so that no route knows how bytes travel.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace casemate::server {

/// What a key may do; each role may do what those before it may.
enum class Role : std::uint8_t { kReader, kWriter, kAdmin };
[[nodiscard]] std::string_view role_name(Role role) noexcept;  ///< "reader", "writer", "admin"

/// Who asks. Tenant and labels come from the key and from nothing else.
struct Caller {
  std::string name;  ///< of the key; "local" where no key is needed
  std::string key;   ///< its public prefix; empty without a key
  Role role = Role::kReader;
  std::string tenant = "default";
  std::vector<std::string> labels;  ///< only documents with one of these; none: no condition
};

struct Request {
  std::string method;
  std::string path;          ///< as sent, without the query
  std::string query;         ///< as sent, without "?"
  std::string content_type;  ///< lower case, without parameters
  std::string body;
  std::string argument;  ///< what stands in the route's place for it ("/v1/jobs/{id}")
  std::string trace_id;  ///< 32 hexadecimal digits
  Caller caller;
  std::string span_id{};      ///< of this request, 16 hexadecimal digits
  std::string parent_span{};  ///< of the caller; empty where it sent none
  bool sampled = true;        ///< the caller keeps this trace
};

struct Response {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
};

/// One request under way, as its handler sees it. Used by one thread.
class Exchange {
 public:
  virtual ~Exchange() = default;
  [[nodiscard]] virtual const Request& request() const noexcept = 0;
  /// Stops when the client goes away, at the deadline, and when the server is made to end.
  [[nodiscard]] virtual std::stop_token stop() const noexcept = 0;
  /// Sends a piece of the body at once; the first one makes the status 200 and the type `text/event-stream`, and what
  /// the handler returns is then not sent. Waits while the client reads slowly. False where nobody listens any more.
  [[nodiscard]] virtual bool send_event(std::string event) = 0;
  [[nodiscard]] virtual bool streaming() const noexcept = 0;
};

}  // namespace casemate::server
