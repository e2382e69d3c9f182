#include "models/https_session.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "casemate/core/untrusted_text.h"

namespace casemate {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;
using Milliseconds = std::chrono::milliseconds;
using Endpoints = std::vector<tcp::endpoint>;

constexpr std::uint32_t kMaxHeaderBytes = 64 * 1024;
constexpr Milliseconds kSlice{50};  ///< how often a wait looks at the stop token

Error failure(std::string_view what, const error_code& code) {
  if (code == beast::error::timeout) {
    return {ErrorCode::kTimeout, "no answer in time while trying to " + std::string(what)};
  }
  return {ErrorCode::kUnavailable, "cannot " + std::string(what) + ": " + UntrustedText(code.message()).for_log()};
}

struct LookUp {
  std::mutex mutex;
  std::condition_variable done;
  bool finished = false;
  error_code code;
  Endpoints endpoints;
};

/// A name look-up can neither be stopped nor given a deadline, so it runs in a thread of its own, which is left behind
/// if it takes too long: it owns all that it touches and ends when the system's resolver gives up.
Result<Endpoints> look_up(const Url& url, Milliseconds timeout, const std::stop_token& stop) {
  const auto shared = std::make_shared<LookUp>();
  std::thread([shared, host = url.host, port = url.port] {
    asio::io_context context;
    tcp::resolver resolver(context);
    error_code code;
    const auto found = resolver.resolve(host, port, tcp::resolver::numeric_service, code);
    const std::lock_guard lock(shared->mutex);
    shared->code = code;
    if (!code) {
      for (const auto& entry : found) shared->endpoints.push_back(entry.endpoint());
    }
    shared->finished = true;
    shared->done.notify_all();
  }).detach();
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::unique_lock lock(shared->mutex);
  while (!shared->finished) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped"};
    if (std::chrono::steady_clock::now() >= deadline) return failure("look up " + url.host, beast::error::timeout);
    shared->done.wait_for(lock, kSlice);
  }
  if (shared->code) return failure("look up " + url.host, shared->code);
  return shared->endpoints;
}

}  // namespace

struct HttpsSession::State {
  using Stream = beast::ssl_stream<beast::tcp_stream>;

  State(HttpsOptions given, std::stop_token token) : options(std::move(given)), stop(std::move(token)) {}

  HttpsOptions options;
  std::stop_token stop;
  asio::io_context context;
  asio::ssl::context tls{asio::ssl::context::tls_client};
  std::unique_ptr<Stream> stream;
  beast::flat_buffer buffer;
  std::unique_ptr<http::response_parser<http::buffer_body>> parser;
  std::vector<char> piece = std::vector<char>(256 * 1024);

  /// Starts one operation and waits for its end, its deadline or the wish to stop. `start` is given the handler.
  template <typename Start>
  Status wait(std::string_view what, int timeout_ms, Start start) {
    error_code code;
    bool finished = false;
    auto& socket = beast::get_lowest_layer(*stream);
    socket.expires_after(Milliseconds(timeout_ms));
    start([&](const error_code& result) {
      code = result;
      finished = true;
    });
    bool stopped = false;
    while (!finished) {
      context.restart();
      context.run_for(kSlice);
      if (finished || stopped || !stop.stop_requested()) continue;
      stopped = true;
      socket.cancel();
    }
    if (stopped) return Error{ErrorCode::kCancelled, "stopped"};
    if (code) return failure(what, code);
    return {};
  }
};

HttpsSession::HttpsSession(HttpsOptions options, std::stop_token stop)
    : state_(std::make_unique<State>(std::move(options), std::move(stop))) {}
HttpsSession::~HttpsSession() = default;

Status HttpsSession::connect(const Url& url) {
  State& s = *state_;
  error_code code;
  if (s.options.ca_file.empty()) {
    s.tls.set_default_verify_paths(code);
  } else {
    s.tls.load_verify_file(s.options.ca_file, code);
  }
  if (code) return failure("read the trusted certificates " + s.options.ca_file, code);
  s.tls.set_verify_mode(asio::ssl::verify_peer);
  ::SSL_CTX_set_min_proto_version(s.tls.native_handle(), TLS1_2_VERSION);
  const Result<Endpoints> endpoints = look_up(url, Milliseconds(s.options.connect_timeout_ms), s.stop);
  if (!endpoints) return endpoints.error();
  s.stream = std::make_unique<State::Stream>(s.context, s.tls);
  s.stream->set_verify_callback(asio::ssl::host_name_verification(url.host));
  asio::ip::make_address(url.host, code);
  const bool is_address = !code;
  // Addresses have no place in the server name extension.
  if (!is_address && ::SSL_set_tlsext_host_name(s.stream->native_handle(), url.host.c_str()) != 1) {
    return Error{ErrorCode::kUnavailable, "cannot name the host to TLS"};
  }
  Status connected = s.wait("connect to " + url.authority(), s.options.connect_timeout_ms, [&](auto done) {
    beast::get_lowest_layer(*s.stream).async_connect(
        *endpoints, [done](const error_code& result, const tcp::endpoint&) mutable { done(result); });
  });
  if (!connected) return connected;
  return s.wait("agree on TLS with " + url.authority(), s.options.connect_timeout_ms,
                [&](auto done) { s.stream->async_handshake(asio::ssl::stream_base::client, done); });
}

Result<HttpsHead> HttpsSession::get(const Url& url, std::uint64_t begin) {
  State& s = *state_;
  http::request<http::empty_body> request(http::verb::get, url.target, 11);
  request.set(http::field::host, url.authority());
  request.set(http::field::user_agent, "casemate");
  request.set(http::field::accept_encoding, "identity");
  request.set(http::field::connection, "close");
  if (begin > 0) request.set(http::field::range, "bytes=" + std::to_string(begin) + "-");
  Status sent = s.wait("send the request", s.options.idle_timeout_ms, [&](auto done) {
    http::async_write(*s.stream, request, [done](const error_code& result, std::size_t) mutable { done(result); });
  });
  if (!sent) return sent.error();
  s.parser = std::make_unique<http::response_parser<http::buffer_body>>();
  s.parser->header_limit(kMaxHeaderBytes);
  s.parser->body_limit(boost::none);
  Status read = s.wait("read the answer", s.options.idle_timeout_ms, [&](auto done) {
    http::async_read_header(*s.stream, s.buffer, *s.parser,
                            [done](const error_code& result, std::size_t) mutable { done(result); });
  });
  if (!read) return read.error();
  const auto& message = s.parser->get();
  HttpsHead head;
  head.status = static_cast<int>(message.result_int());
  head.location = std::string(message[http::field::location]);
  head.content_range = std::string(message[http::field::content_range]);
  if (const auto length = s.parser->content_length()) head.content_length = *length;
  return head;
}

Result<std::string_view> HttpsSession::read() {
  State& s = *state_;
  // A read may move the parser without giving bytes of the body (chunk sizes).
  while (s.parser && !s.parser->is_done()) {
    auto& body = s.parser->get().body();
    body.data = s.piece.data();
    body.size = s.piece.size();
    body.more = true;
    // need_buffer only says that the piece is full.
    Status got = s.wait("receive the file", s.options.idle_timeout_ms, [&](auto done) {
      http::async_read_some(*s.stream, s.buffer, *s.parser, [done](error_code result, std::size_t) mutable {
        done(result == http::error::need_buffer ? error_code() : result);
      });
    });
    if (!got) return got.error();
    if (const std::size_t filled = s.piece.size() - body.size; filled > 0) {
      return std::string_view(s.piece.data(), filled);
    }
  }
  return std::string_view();
}

}  // namespace casemate
