// One connection: requests one after the other, each with its deadlines.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "live_exchange.h"
#include "server.h"
#include "spans.h"

namespace casemate::server {

/// What all connections share.
struct Shared {
  ServerOptions options;
  const Router& router;
  Gate& gate;
  Lanes lanes;
  Metrics& metrics;
  Log& log;
  bool draining = false;
  SpanExporter* spans = nullptr;  ///< null: nobody collects them
};

/// Lives as long as its coroutine; one thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, Shared& shared);

  /// Serves requests until the client, an error or draining ends it. Never throws.
  [[nodiscard]] boost::asio::awaitable<void> serve();
  /// Draining: ends the connection if it waits for a request.
  void end_if_idle();
  /// Cancels whatever is under way and closes.
  void abort();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  enum class Read { kOk, kClosed, kRefused };

  /// Waits for a request and reads its head. `refusal_` says why it is refused.
  boost::asio::awaitable<Read> read_head(bool first);
  boost::asio::awaitable<Read> read_body();
  /// Route, caller and size, before a byte of the body is read.
  bool admit();
  boost::asio::awaitable<bool> answer();
  boost::asio::awaitable<bool> run_handler(std::shared_ptr<LiveExchange> exchange);
  boost::asio::awaitable<bool> write(Response response, bool keep_alive);
  boost::asio::awaitable<bool> write_stream(std::shared_ptr<LiveExchange> exchange, std::string first,
                                            std::chrono::steady_clock::time_point deadline);
  /// Reads on for a moment, so that a client that still sends gets the answer instead of a reset.
  boost::asio::awaitable<void> linger();
  void watch_for_close(const std::shared_ptr<LiveExchange>& exchange);
  void refuse(Response response, std::string_view reason);
  void finished(unsigned status);

  boost::beast::tcp_stream stream_;
  Shared& shared_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::optional<Response> refusal_;
  Request request_;
  const Route* route_ = nullptr;
  std::shared_ptr<LiveExchange> exchange_;
  std::chrono::steady_clock::time_point began_;
  std::int64_t began_ns_ = 0;  ///< since 1970 UTC
  std::size_t sent_bytes_ = 0;
  bool idle_ = true;
};

}  // namespace casemate::server
