#include "llm/http_client.h"

#include <algorithm>
#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <exception>
#include <optional>

namespace casemate::llm {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using Time = std::chrono::steady_clock;

constexpr std::uint32_t kMaxHeaderBytes = 64U * 1024U;
constexpr std::size_t kReadBytes = 16U * 1024U;

/// Runs one asynchronous operation at a time and waits for it with a deadline and a stop token.
class Connection {
 public:
  Connection(const HttpRequest& request, const HttpOptions& options, const std::stop_token& stop)
      : request_(request),
        options_(options),
        stop_(stop),
        end_(Time::now() + std::chrono::milliseconds(options.total_timeout_ms)),
        tls_context_(asio::ssl::context::tls_client) {}

  Result<HttpResponse> run(const OnBody& on_body) {
    if (auto status = connect(); !status) return status.error();
    if (!request_.url.tls) return exchange(*plain_, on_body);
    return exchange(*tls_, on_body);
  }

 private:
  std::string place() const { return request_.url.host + ":" + request_.url.port; }
  Error error(ErrorCode code, const std::string& what) const { return {code, place() + ": " + what}; }
  Error unavailable(const std::string& doing, const error_code& code) const {
    return error(ErrorCode::kUnavailable, doing + " failed: " + code.message());
  }

  /// `start` begins the operation with the handler it is given. Error: Timeout, Cancelled.
  template <typename Start>
  Result<error_code> wait(const std::string& doing, int timeout_ms, const Start& start) {
    std::optional<error_code> result;
    start([&result](const error_code& code, const auto&...) { result = code; });
    const Time::time_point until = std::min(end_, Time::now() + std::chrono::milliseconds(timeout_ms));
    std::optional<Error> broken_off;
    while (!result) {
      io_.restart();
      io_.run_one_for(std::chrono::milliseconds(20));
      if (result || broken_off) continue;
      if (stop_.stop_requested()) broken_off = Error{ErrorCode::kCancelled, "the caller asked to stop"};
      if (Time::now() >= until) broken_off = error(ErrorCode::kTimeout, doing + " took too long");
      if (broken_off) cancel();
    }
    if (broken_off) return *broken_off;
    return *result;
  }

  void cancel() {
    resolver_.cancel();
    if (plain_) beast::get_lowest_layer(*plain_).close();
    if (tls_) beast::get_lowest_layer(*tls_).close();
  }

  Status connect() {
    const auto connect_end = Time::now() + std::chrono::milliseconds(options_.connect_timeout_ms);
    const auto left = [&] {
      return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(connect_end - Time::now()).count());
    };
    asio::ip::tcp::resolver::results_type addresses;
    auto looked_up = wait("the name look-up", left(), [&](const auto& done) {
      resolver_.async_resolve(request_.url.host, request_.url.port,
                              [&addresses, done](const error_code& code, const auto& found) {
                                addresses = found;
                                done(code);
                              });
    });
    if (!looked_up) return looked_up.error();
    if (*looked_up) return unavailable("the name look-up", *looked_up);

    if (request_.url.tls) {
      if (auto status = prepare_tls(); !status) return status;
    } else {
      plain_.emplace(io_);
    }
    beast::tcp_stream& socket = request_.url.tls ? beast::get_lowest_layer(*tls_) : *plain_;
    auto connected = wait("connecting", left(), [&](const auto& done) { socket.async_connect(addresses, done); });
    if (!connected) return connected.error();
    if (*connected) return unavailable("connecting", *connected);
    if (!request_.url.tls) return {};
    auto shaken = wait("the TLS handshake", left(),
                       [&](const auto& done) { tls_->async_handshake(asio::ssl::stream_base::client, done); });
    if (!shaken) return shaken.error();
    if (*shaken) return unavailable("the TLS handshake", *shaken);
    return {};
  }

  Status prepare_tls() {
    error_code code;
    tls_context_.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                             asio::ssl::context::no_tlsv1_1);
    if (!options_.verify_tls) {
      tls_context_.set_verify_mode(asio::ssl::verify_none);
    } else {
      tls_context_.set_verify_mode(asio::ssl::verify_peer);
      if (options_.ca_file.empty()) {
        tls_context_.set_default_verify_paths(code);
      } else {
        tls_context_.load_verify_file(options_.ca_file, code);
      }
      if (code) return error(ErrorCode::kInvalidOption, "the trusted certificates cannot be read: " + code.message());
    }
    tls_.emplace(io_, tls_context_);
    if (options_.verify_tls) tls_->set_verify_callback(asio::ssl::host_name_verification(request_.url.host));
    error_code is_no_address;
    asio::ip::make_address(request_.url.host, is_no_address);
    if (is_no_address) SSL_set_tlsext_host_name(tls_->native_handle(), request_.url.host.c_str());
    return {};
  }

  template <typename Stream>
  Result<HttpResponse> exchange(Stream& stream, const OnBody& on_body) {
    http::request<http::string_body> message;
    message.method_string(request_.method);
    message.target(request_.url.path.empty() ? "/" : request_.url.path);
    message.version(11);
    const bool is_v6 = request_.url.host.find(':') != std::string::npos;
    message.set(http::field::host,
                (is_v6 ? "[" + request_.url.host + "]" : request_.url.host) + ":" + request_.url.port);
    message.set(http::field::connection, "close");
    for (const auto& [name, value] : request_.headers) message.set(name, value);
    message.body() = request_.body;
    message.prepare_payload();
    if (options_.was_sent != nullptr) *options_.was_sent = true;
    auto sent = wait("sending the request", options_.idle_timeout_ms,
                     [&](const auto& done) { http::async_write(stream, message, done); });
    if (!sent) return sent.error();
    // A server may answer (413, say) and close before it has read everything; its answer says more than the error.
    const bool sent_in_part = static_cast<bool>(*sent);

    beast::flat_buffer buffer;
    http::response_parser<http::buffer_body> parser;
    parser.header_limit(kMaxHeaderBytes);
    parser.body_limit(options_.max_body_bytes);
    auto head = wait("waiting for the reply", options_.idle_timeout_ms,
                     [&](const auto& done) { http::async_read_header(stream, buffer, parser, done); });
    if (!head) return head.error();
    if (*head) return sent_in_part ? unavailable("sending the request", *sent) : reply_error(*head);
    HttpResponse response;
    response.status = parser.get().result_int();
    response.retry_after = std::string(parser.get()[http::field::retry_after]);
    response.content_type = std::string(parser.get()[http::field::content_type]);
    response.location = std::string(parser.get()[http::field::location]);
    std::array<char, kReadBytes> bytes{};
    while (!parser.is_done()) {
      parser.get().body().data = bytes.data();
      parser.get().body().size = bytes.size();
      auto read = wait("waiting for the rest of the reply", options_.idle_timeout_ms,
                       [&](const auto& done) { http::async_read_some(stream, buffer, parser, done); });
      if (!read) return read.error();
      if (*read && *read != http::error::need_buffer) return reply_error(*read);
      const std::string_view got(bytes.data(), bytes.size() - parser.get().body().size);
      if (got.empty()) continue;
      if (!on_body || response.status != 200) {
        response.body += got;
      } else if (!on_body(got)) {
        return response;
      }
    }
    return response;
  }

  Error reply_error(const error_code& code) const {
    if (code == http::error::body_limit) {
      return error(ErrorCode::kLimit, "the reply is larger than " + std::to_string(options_.max_body_bytes) + " bytes");
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

  const HttpRequest& request_;
  const HttpOptions& options_;
  const std::stop_token& stop_;
  Time::time_point end_;
  asio::io_context io_{1};
  asio::ip::tcp::resolver resolver_{io_};
  asio::ssl::context tls_context_;
  std::optional<beast::tcp_stream> plain_;
  std::optional<beast::ssl_stream<beast::tcp_stream>> tls_;
};

}  // namespace

Result<Url> parse_url(std::string_view text) {
  const auto wrong = [](const std::string& what) {
    return Error{ErrorCode::kInvalidOption, "base_url " + what + "; expected http(s)://host[:port][/path]"};
  };
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= 0x20U || static_cast<unsigned char>(c) >= 0x7FU) {
      return wrong("holds blanks, control or non-ASCII characters");
    }
  }
  Url url;
  if (text.starts_with("https://")) {
    url.tls = true;
    text.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    text.remove_prefix(7);
  } else {
    return wrong("does not begin with http:// or https://");
  }
  const std::size_t slash = text.find('/');
  std::string_view authority = text.substr(0, slash);
  if (slash != std::string_view::npos) url.path = text.substr(slash);
  if (authority.find('@') != std::string_view::npos) return wrong("holds a user name; give the key as api_key");
  if (text.find_first_of("?#") != std::string_view::npos) return wrong("holds a query or fragment");
  url.port = url.tls ? "443" : "80";
  const std::size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == std::string_view::npos) return wrong("has an unclosed [");
  const std::size_t colon = authority.find(':', bracket);
  if (colon != std::string_view::npos) {
    url.port = authority.substr(colon + 1);
    authority = authority.substr(0, colon);
    const bool digits =
        !url.port.empty() && url.port.size() <= 5 && url.port.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || std::stoi(url.port) < 1 || std::stoi(url.port) > 65535) return wrong("has no valid port");
  }
  if (bracket > 0) authority = authority.substr(1, bracket - 1);
  if (authority.empty()) return wrong("has no host");
  url.host = authority;
  return url;
}

Result<HttpResponse> send_http(const HttpRequest& request, const HttpOptions& options, const std::stop_token& stop,
                               const OnBody& on_body) {
  try {
    Connection connection(request, options, stop);
    return connection.run(on_body);
  } catch (const std::exception& failure) {
    return Error{ErrorCode::kUnavailable, request.url.host + ":" + request.url.port + ": " + failure.what()};
  }
}

}  // namespace casemate::llm
