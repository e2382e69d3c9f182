// Listens, reads requests, hands them to lanes, writes answers, and drains.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "gate.h"
#include "log.h"
#include "metrics.h"
#include "router.h"
#include "work_queue.h"

namespace casemate::server {

class SpanExporter;

struct ServerOptions {
  std::string address = "127.0.0.1";  ///< an IP address, or "localhost"
  std::uint16_t port = 8080;          ///< 0: any that is free
  int max_connections = 1024;         ///< further ones get 503; in [1, 65536], and as descriptors allow
  int idle_timeout_ms = 60'000;       ///< between the requests of a connection
  int header_timeout_ms = 10'000;     ///< from a request's first byte to the end of its head
  int body_timeout_ms = 60'000;       ///< for the whole body
  int write_timeout_ms = 30'000;      ///< for one piece of an answer
  int request_timeout_ms = 120'000;   ///< from the end of the body to the answer's end: then the work is cancelled
  int drain_timeout_ms = 30'000;      ///< after SIGTERM, before what still runs is cancelled
};

/// Loopback addresses are reached from this machine only. Error: InvalidOption for what is no IP address.
[[nodiscard]] Result<bool> is_loopback(const std::string& address);

/// Where handlers run.
struct Lanes {
  WorkQueue& query;
  WorkQueue& model;
};

/// One thread moves bytes (a coroutine a connection); handlers run in lanes.
class Server {
 public:
  /// Binds the address. What is passed must outlive the server. Error: InvalidOption; Unavailable where the address is
  /// taken; Permission.
  [[nodiscard]] static Result<std::unique_ptr<Server>> create(const ServerOptions& options, const Router& router,
                                                              Gate& gate, Lanes lanes, Metrics& metrics, Log& log);
  ~Server();

  [[nodiscard]] std::uint16_t port() const noexcept;
  /// True from the moment that `stop` was requested: no request that is not here yet is taken.
  [[nodiscard]] bool draining() const noexcept;
  /// Called on SIGHUP, where bytes are moved: it must not wait for anything. Set before `run`.
  void on_reload(std::function<void()> reload);
  /// Where a span of each request goes; must outlive the server. Set before `run`.
  void export_spans(SpanExporter& spans);
  /// Other timeouts, from the next request on; address, port and numbers of connections stay. On the thread of `run`.
  void set_timeouts(const ServerOptions& options);
  /// Serves until `stop` is requested, then lets requests under way end, at most `drain_timeout_ms`.
  void run(std::stop_token stop);

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace casemate::server
