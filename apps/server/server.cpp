#include "server.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <csignal>
#include <cstdint>
#include <set>

#include "connection.h"

namespace casemate::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

Result<asio::ip::address> parse_address(const std::string& text) {
  if (text == "localhost") return asio::ip::address(asio::ip::address_v4::loopback());
  error_code code;
  const auto address = asio::ip::make_address(text, code);
  if (code)
    return Error{ErrorCode::kInvalidOption, "address must be an IP address such as 127.0.0.1 or ::1, or localhost"};
  return address;
}

std::uint64_t descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

/// Descriptors that connections leave for the store and its writers. They are numbered from the least that is free.
std::uint64_t kept_descriptors() { return std::clamp<std::uint64_t>(descriptor_limit() / 8, 8, 64); }

/// Descriptors beside those of connections: the store, its writers, models, the log.
constexpr rlim_t kOtherDescriptors = 1024;

/// As many as `connections` need, where this process may have them: usual limits are meant for programs that wait for
/// one descriptor at a time. No more: where a container allows 1e9, whatever goes through all of them would take
/// minutes.
void raise_descriptor_limit(int connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::max(limit.rlim_cur, static_cast<rlim_t>(connections) + kOtherDescriptors);
  if (limit.rlim_cur == RLIM_INFINITY || wanted == limit.rlim_cur) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

Error bind_error(const tcp::endpoint& endpoint, const error_code& code) {
  const ErrorCode kind = code == asio::error::access_denied ? ErrorCode::kPermission : ErrorCode::kUnavailable;
  return {kind, "cannot listen on " + endpoint.address().to_string() + " port " + std::to_string(endpoint.port()) +
                    ": " + code.message()};
}

}  // namespace

Result<bool> is_loopback(const std::string& address) {
  const auto parsed = parse_address(address);
  if (!parsed) return parsed.error();
  return parsed->is_loopback();
}

struct Server::State {
  State(Shared given) : shared(std::move(given)) {}

  Shared shared;
  asio::io_context io{1};
  tcp::acceptor acceptor{io};
  asio::steady_timer drain_timer{io};
  asio::signal_set hang_up{io, SIGHUP};
  std::function<void()> reload;
  std::set<Connection*> connections;
  std::atomic<bool> draining = false;

  asio::awaitable<void> accept();
  void wait_for_reload();
  asio::awaitable<void> serve(std::shared_ptr<Connection> connection);
  void start(tcp::socket socket);
  void drain();
  void ended(Connection* connection);
};

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::create(const ServerOptions& options, const Router& router, Gate& gate,
                                               Lanes lanes, Metrics& metrics, Log& log) {
  const auto address = parse_address(options.address);
  if (!address) return address.error();
  raise_descriptor_limit(options.max_connections);
  auto state = std::make_unique<State>(Shared{options, router, gate, lanes, metrics, log});
  const tcp::endpoint endpoint(*address, options.port);
  error_code code;
  state->acceptor.open(endpoint.protocol(), code);
  if (!code) state->acceptor.set_option(tcp::acceptor::reuse_address(true), code);
  if (!code) state->acceptor.bind(endpoint, code);
  if (!code) state->acceptor.listen(asio::socket_base::max_listen_connections, code);
  if (code) return bind_error(endpoint, code);
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

std::uint16_t Server::port() const noexcept {
  error_code ignored;
  return state_->acceptor.local_endpoint(ignored).port();
}

bool Server::draining() const noexcept { return state_->draining; }

asio::awaitable<void> Server::State::accept() {
  while (!draining) {
    error_code code;
    tcp::socket socket = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, code));
    if (draining || code == asio::error::operation_aborted) co_return;
    if (!code) {
      start(std::move(socket));
      continue;
    }
    // Out of descriptors, say: those that are open must end first.
    shared.log.write(LogLevel::kWarning, "accept_failed", {{"what", code.message()}});
    asio::steady_timer pause(io, std::chrono::milliseconds(100));
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, code));
  }
}

void Server::State::start(tcp::socket socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  if (connections.size() >= static_cast<std::size_t>(shared.options.max_connections) ||
      static_cast<std::uint64_t>(socket.native_handle()) + kept_descriptors() >= descriptor_limit()) {
    shared.metrics.refused("connections");
    static constexpr std::string_view kFull =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(kFull), ignored);
    return;
  }
  auto connection = std::make_shared<Connection>(std::move(socket), shared);
  connections.insert(connection.get());
  shared.metrics.connections(+1);
  asio::co_spawn(io, serve(std::move(connection)), asio::detached);
}

asio::awaitable<void> Server::State::serve(std::shared_ptr<Connection> connection) {
  co_await connection->serve();
  ended(connection.get());
}

void Server::State::ended(Connection* connection) {
  connections.erase(connection);
  shared.metrics.connections(-1);
  if (draining && connections.empty()) drain_timer.cancel();
}

void Server::State::drain() {
  draining = true;
  shared.draining = true;
  shared.log.write(LogLevel::kInfo, "draining", {{"connections", connections.size()}});
  error_code ignored;
  acceptor.close(ignored);
  hang_up.cancel(ignored);
  for (Connection* connection : std::set<Connection*>(connections)) connection->end_if_idle();
  if (connections.empty()) return;
  drain_timer.expires_after(std::chrono::milliseconds(shared.options.drain_timeout_ms));
  drain_timer.async_wait([this](const error_code& code) {
    if (code) return;
    shared.log.write(LogLevel::kWarning, "drain_timeout", {{"connections", connections.size()}});
    for (Connection* connection : std::set<Connection*>(connections)) connection->abort();
  });
}

void Server::State::wait_for_reload() {
  hang_up.async_wait([this](const error_code& code, int) {
    if (code) return;
    if (reload) reload();
    wait_for_reload();
  });
}

void Server::on_reload(std::function<void()> reload) { state_->reload = std::move(reload); }

void Server::export_spans(SpanExporter& spans) { state_->shared.spans = &spans; }

void Server::set_timeouts(const ServerOptions& options) {
  ServerOptions& mine = state_->shared.options;
  mine.idle_timeout_ms = options.idle_timeout_ms;
  mine.header_timeout_ms = options.header_timeout_ms;
  mine.body_timeout_ms = options.body_timeout_ms;
  mine.write_timeout_ms = options.write_timeout_ms;
  mine.request_timeout_ms = options.request_timeout_ms;
  mine.drain_timeout_ms = options.drain_timeout_ms;
}

void Server::run(std::stop_token stop) {
  State& state = *state_;
  state.wait_for_reload();
  asio::co_spawn(state.io, state.accept(), asio::detached);
  const std::stop_callback on_stop(stop, [&state] { asio::post(state.io, [&state] { state.drain(); }); });
  state.io.run();
  // Handlers that were left behind hold timers of this loop, so they end before it does.
  state.shared.lanes.query.close();
  state.shared.lanes.model.close();
}

}  // namespace casemate::server
