#include "net/http_client.h"

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <exception>

#include "casemate/core/untrusted_text.h"
#include "net/name_look_up.h"

namespace casemate {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using Time = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

constexpr std::uint32_t kMaxHeaderBytes = 64U * 1024U;
constexpr std::size_t kPieceBytes = 64U * 1024U;
constexpr Milliseconds kSlice{20};  ///< how often a wait looks at the stop token

/// Boost's streams and OpenSSL's contexts throw where memory or descriptors run out.
template <typename Run>
auto guarded(const Url& url, const Run& run) -> decltype(run()) {
  try {
    return run();
  } catch (const std::exception& failure) {
    return Error{ErrorCode::kUnavailable, url.authority() + ": " + UntrustedText(failure.what()).for_log()};
  }
}

}  // namespace

/// Runs one asynchronous operation at a time and waits for it with a deadline and a stop token.
struct HttpConnection::State {
  State(Url place, HttpOptions given, std::stop_token token)
      : url(std::move(place)),
        options(std::move(given)),
        stop(std::move(token)),
        end(options.total_timeout_ms > 0 ? Time::now() + Milliseconds(options.total_timeout_ms)
                                         : Time::time_point::max()) {}

  Url url;
  HttpOptions options;
  std::stop_token stop;
  Time::time_point end;
  asio::io_context io{1};
  asio::ssl::context tls_context{asio::ssl::context::tls_client};
  std::optional<beast::tcp_stream> plain;
  std::optional<beast::ssl_stream<beast::tcp_stream>> tls;
  beast::flat_buffer buffer;
  std::optional<http::response_parser<http::buffer_body>> parser;
  std::vector<char> piece;

  static Error stopped() { return {ErrorCode::kCancelled, "the caller asked to stop"}; }
  [[nodiscard]] Error error(ErrorCode code, const std::string& what) const {
    return {code, url.authority() + ": " + what};
  }
  [[nodiscard]] Error unavailable(const std::string& doing, const error_code& code) const {
    return error(ErrorCode::kUnavailable, doing + " failed: " + UntrustedText(code.message()).for_log());
  }
  [[nodiscard]] Time::time_point idle_end() const { return Time::now() + Milliseconds(options.idle_timeout_ms); }

  /// Calls `use` with the stream that is in use.
  template <typename Use>
  auto with_stream(const Use& use) {
    return tls ? use(*tls) : use(*plain);
  }
  beast::tcp_stream& socket() { return tls ? beast::get_lowest_layer(*tls) : *plain; }

  /// `start` begins the operation with the handler it is given. Error: Timeout, Cancelled.
  template <typename Start>
  Result<error_code> wait(const std::string& doing, Time::time_point until, const Start& start) {
    if (stop.stop_requested()) return stopped();
    std::optional<error_code> result;
    start([&result](const error_code& code, const auto&...) { result = code; });
    until = std::min(until, end);
    std::optional<Error> broken_off;
    while (!result) {
      io.restart();
      io.run_one_for(kSlice);
      if (result || broken_off) continue;
      if (stop.stop_requested()) broken_off = stopped();
      if (Time::now() >= until)
        broken_off = error(ErrorCode::kTimeout, "no answer in time: " + doing + " took too long");
      if (broken_off) socket().close();
    }
    if (broken_off) return *broken_off;
    return *result;
  }

  Status connect();
  Status prepare_tls();
  Error reply_error(const error_code& code) const;
};

Status HttpConnection::State::connect() {
  const Time::time_point connect_end = std::min(end, Time::now() + Milliseconds(options.connect_timeout_ms));
  const auto addresses = look_up(url, connect_end, stop);
  if (!addresses) {
    const Error& why = addresses.error();
    return why.code == ErrorCode::kCancelled ? why : error(why.code, why.message);
  }
  if (url.tls) {
    if (Status prepared = prepare_tls(); !prepared) return prepared;
  } else {
    plain.emplace(io);
  }
  const auto connected =
      wait("connecting", connect_end, [&](const auto& done) { socket().async_connect(*addresses, done); });
  if (!connected) return connected.error();
  if (*connected) return unavailable("connecting", *connected);
  if (!url.tls) return {};
  const auto shaken = wait("the TLS handshake", connect_end,
                           [&](const auto& done) { tls->async_handshake(asio::ssl::stream_base::client, done); });
  if (!shaken) return shaken.error();
  if (*shaken) return unavailable("cannot agree on TLS: the TLS handshake", *shaken);
  return {};
}

Status HttpConnection::State::prepare_tls() {
  error_code code;
  ::SSL_CTX_set_min_proto_version(tls_context.native_handle(), TLS1_2_VERSION);
  if (!options.verify_tls) {
    tls_context.set_verify_mode(asio::ssl::verify_none);
  } else {
    tls_context.set_verify_mode(asio::ssl::verify_peer);
    if (options.ca_file.empty()) {
      tls_context.set_default_verify_paths(code);
    } else {
      tls_context.load_verify_file(options.ca_file, code);
    }
    if (code) {
      return error(ErrorCode::kInvalidOption, "the trusted certificates " + UntrustedText(options.ca_file).for_log() +
                                                  " cannot be read: " + UntrustedText(code.message()).for_log());
    }
  }
  tls.emplace(io, tls_context);
  if (options.verify_tls) tls->set_verify_callback(asio::ssl::host_name_verification(url.host));
  error_code no_address;
  asio::ip::make_address(url.host, no_address);
  // Addresses have no place in the server name extension.
  if (no_address && ::SSL_set_tlsext_host_name(tls->native_handle(), url.host.c_str()) != 1)
    return error(ErrorCode::kUnavailable, "cannot name the host to TLS");
  return {};
}

Error HttpConnection::State::reply_error(const error_code& code) const {
  if (code == http::error::body_limit) {
    return error(ErrorCode::kLimit, "the reply is larger than " + std::to_string(options.max_body_bytes) + " bytes");
  }
  if (code == http::error::header_limit) return error(ErrorCode::kLimit, "the reply's header is too large");
  if (code == http::error::end_of_stream || code == http::error::partial_message || code == asio::error::eof ||
      code == asio::ssl::error::stream_truncated || code == asio::error::connection_reset ||
      code == asio::error::broken_pipe) {
    return error(ErrorCode::kUnavailable, "the connection was closed before the reply was whole");
  }
  if (code.category() == http::make_error_code(http::error::bad_version).category()) {
    return error(ErrorCode::kInvalidInput, "the reply is no valid HTTP (" + code.message() + ")");
  }
  return unavailable("reading the reply", code);
}

HttpConnection::HttpConnection(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpConnection::~HttpConnection() = default;
HttpConnection::HttpConnection(HttpConnection&&) noexcept = default;
HttpConnection& HttpConnection::operator=(HttpConnection&&) noexcept = default;

Result<HttpConnection> HttpConnection::open(const Url& url, HttpOptions options, std::stop_token stop) {
  return guarded(url, [&]() -> Result<HttpConnection> {
    auto state = std::make_unique<State>(url, std::move(options), std::move(stop));
    if (Status connected = state->connect(); !connected) return connected.error();
    return HttpConnection(std::move(state));
  });
}

Result<HttpHead> HttpConnection::send(const HttpRequest& request) {
  State& s = *state_;
  return guarded(s.url, [&]() -> Result<HttpHead> {
    http::request<http::string_body> message;
    message.method_string(request.method);
    message.target(request.url.target.empty() ? "/" : request.url.target);
    message.version(11);
    message.set(http::field::host, s.url.authority());
    message.set(http::field::connection, "close");
    for (const auto& [name, value] : request.headers) message.set(name, value);
    message.body() = request.body;
    message.prepare_payload();
    if (s.options.was_sent != nullptr) *s.options.was_sent = true;
    const auto sent = s.wait("sending the request", s.idle_end(), [&](const auto& done) {
      s.with_stream([&](auto& stream) { http::async_write(stream, message, done); });
    });
    if (!sent) return sent.error();
    // A server may answer (413, say) and close before it has read everything; its answer says more than the error.
    const bool sent_in_part = static_cast<bool>(*sent);
    s.parser.emplace();
    s.parser->header_limit(kMaxHeaderBytes);
    if (s.options.max_body_bytes > 0) {
      s.parser->body_limit(s.options.max_body_bytes);
    } else {
      s.parser->body_limit(boost::none);
    }
    const auto read = s.wait("waiting for the reply", s.idle_end(), [&](const auto& done) {
      s.with_stream([&](auto& stream) { http::async_read_header(stream, s.buffer, *s.parser, done); });
    });
    if (!read) return read.error();
    if (*read) return sent_in_part ? s.unavailable("sending the request", *sent) : s.reply_error(*read);
    const auto& reply = s.parser->get();
    HttpHead head;
    head.status = static_cast<int>(reply.result_int());
    head.content_type = std::string(reply[http::field::content_type]);
    head.location = std::string(reply[http::field::location]);
    head.retry_after = std::string(reply[http::field::retry_after]);
    head.content_range = std::string(reply[http::field::content_range]);
    if (const auto length = s.parser->content_length()) head.content_length = *length;
    return head;
  });
}

Result<std::string_view> HttpConnection::read() {
  State& s = *state_;
  return guarded(s.url, [&]() -> Result<std::string_view> {
    s.piece.resize(kPieceBytes);
    // A read may move the parser without giving bytes of the body (chunk sizes).
    while (s.parser && !s.parser->is_done()) {
      auto& body = s.parser->get().body();
      body.data = s.piece.data();
      body.size = s.piece.size();
      body.more = true;
      const auto got = s.wait("waiting for the rest of the reply", s.idle_end(), [&](const auto& done) {
        s.with_stream([&](auto& stream) { http::async_read_some(stream, s.buffer, *s.parser, done); });
      });
      if (!got) return got.error();
      // need_buffer only says that the piece is full.
      if (*got && *got != http::error::need_buffer) return s.reply_error(*got);
      if (const std::size_t filled = s.piece.size() - body.size; filled > 0)
        return std::string_view(s.piece.data(), filled);
    }
    return std::string_view();
  });
}

Result<HttpResponse> send_http(const HttpRequest& request, const HttpOptions& options, const std::stop_token& stop,
                               const OnBody& on_body) {
  auto connection = HttpConnection::open(request.url, options, stop);
  if (!connection) return connection.error();
  auto head = connection->send(request);
  if (!head) return head.error();
  HttpResponse response;
  response.head = *std::move(head);
  const bool given_on = on_body && response.head.status == 200;
  while (true) {
    const auto piece = connection->read();
    if (!piece) return piece.error();
    if (piece->empty()) return response;
    if (!given_on) {
      response.body += *piece;
    } else if (!on_body(*piece)) {
      return response;
    }
  }
}

}  // namespace casemate
