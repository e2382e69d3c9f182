#include "connection.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include "casemate/llm/prompt_owner.h"
#include "trace.h"

namespace casemate::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using SteadyClock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;
using boost::system::error_code;

constexpr std::uint32_t kMaxHeaderBytes = 16 * 1024;
constexpr std::size_t kMaxReadAhead = 128 * 1024;
constexpr Milliseconds kLinger{3000};

std::string media_type(std::string_view header) {
  std::string type(header.substr(0, header.find(';')));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.pop_back();
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::tolower(c); });
  return type;
}

template <typename Fields>
void set_common_headers(Fields& fields, const Request& request) {
  fields.set(http::field::server, "casemate");
  fields.set("X-Content-Type-Options", "nosniff");
  fields.set(http::field::cache_control, "no-store");
  if (!request.trace_id.empty()) fields.set("X-Request-Id", request.trace_id);
}

Response malformed(const error_code& code) {
  if (code == http::error::header_limit || code == http::error::buffer_overflow)
    return error_response(
        ApiError{431, "invalid_request_error", "header_too_large", "the request's head is too large"});
  return error_response(ApiError{400, "invalid_request_error", "bad_request", "this is not a request by HTTP/1.1"});
}

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, Shared& shared)
    : stream_(std::move(socket)), shared_(shared), buffer_(kMaxReadAhead) {}

void Connection::end_if_idle() {
  if (idle_) abort();
}

void Connection::abort() {
  if (exchange_) exchange_->abandon();
  error_code ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  stream_.cancel();
}

asio::awaitable<void> Connection::serve() {
  const auto self = shared_from_this();
  bool first = true;
  bool keep = true;
  try {
    while (keep && !shared_.draining) {
      const Read head = co_await read_head(first);
      first = false;
      if (head == Read::kClosed) break;
      if (head == Read::kOk && admit()) {
        const Read body = co_await read_body();
        if (body == Read::kClosed) break;
      }
      keep = co_await answer();
      idle_ = true;
    }
  } catch (const std::exception& error) {
    shared_.log.write(LogLevel::kError, "connection_failed", {{"what", error.what()}});
  }
  if (exchange_) exchange_->abandon();
  error_code ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  stream_.close();
}

asio::awaitable<Connection::Read> Connection::read_head(bool first) {
  refusal_.reset();
  exchange_.reset();
  route_ = nullptr;
  request_ = {};
  sent_bytes_ = 0;
  parser_.emplace();
  parser_->header_limit(kMaxHeaderBytes);
  parser_->body_limit(boost::none);  // each route has its own, known after the head
  idle_ = buffer_.size() == 0;
  error_code code;
  if (idle_) {
    stream_.expires_after(Milliseconds(first ? shared_.options.header_timeout_ms : shared_.options.idle_timeout_ms));
    const std::size_t got =
        co_await stream_.async_read_some(buffer_.prepare(8192), asio::redirect_error(asio::use_awaitable, code));
    if (code) co_return Read::kClosed;
    buffer_.commit(got);
    idle_ = false;
  }
  began_ = SteadyClock::now();
  began_ns_ = unix_nanoseconds();
  stream_.expires_after(Milliseconds(shared_.options.header_timeout_ms));
  co_await http::async_read_header(stream_, buffer_, *parser_, asio::redirect_error(asio::use_awaitable, code));
  if (!code) co_return Read::kOk;
  const bool speaks_http_badly = code.category() == http::make_error_code(http::error::bad_method).category() &&
                                 code != http::error::end_of_stream && code != http::error::partial_message;
  if (!speaks_http_badly) {
    if (code == beast::error::timeout) shared_.metrics.refused("slow");
    co_return Read::kClosed;
  }
  refuse(malformed(code), "malformed");
  co_return Read::kRefused;
}

void Connection::refuse(Response response, std::string_view reason) {
  shared_.metrics.refused(reason);
  refusal_ = std::move(response);
}

bool Connection::admit() {
  const auto& head = parser_->get();
  TraceContext trace = trace_context_of(head["traceparent"]);
  request_.trace_id = std::move(trace.trace_id);
  request_.parent_span = std::move(trace.parent);
  request_.sampled = trace.sampled;
  request_.span_id = new_span_id();
  request_.method = std::string(head.method_string());
  request_.content_type = media_type(head[http::field::content_type]);
  // What stands before this server may go by the other one.
  if (head.count(http::field::host) > 1 || (head.version() >= 11 && head.count(http::field::host) == 0)) {
    refuse(error_response(ApiError{400, "invalid_request_error", "bad_request", "send one Host header"}), "malformed");
    return false;
  }
  auto target = parse_target(head.target());
  if (!target) {
    refuse(error_response(ApiError{400, "invalid_request_error", "bad_request", "the address is malformed"}),
           "malformed");
    return false;
  }
  request_.path = std::move(target->path);
  request_.query = std::move(target->query);
  Router::Match match = shared_.router.find(request_.method, request_.path);
  if (match.route == nullptr && match.allowed.empty()) {
    refuse(error_response(not_found("there is no such address here; GET /docs lists what is there")), "address");
    return false;
  }
  if (match.route == nullptr) {
    Response response = error_response(
        ApiError{405, "invalid_request_error", "method_not_allowed", "this address does not take that method"});
    std::string allowed;
    for (const std::string& method : match.allowed) allowed += (allowed.empty() ? "" : ", ") + method;
    response.headers.emplace_back("Allow", allowed);
    refuse(std::move(response), "address");
    return false;
  }
  route_ = match.route;
  request_.argument = std::move(match.argument);
  auto admitted = shared_.gate.admit(route_->access, {head[http::field::authorization], head[http::field::host]});
  if (Response* refusal = std::get_if<Response>(&admitted)) {
    refuse(std::move(*refusal), refusal->status == 429 ? "rate" : "key");
    return false;
  }
  request_.caller = std::get<Caller>(std::move(admitted));
  if (parser_->content_length_remaining().value_or(0) > route_->max_body_bytes) {
    refuse(error_response(too_large("the body may have at most " + std::to_string(route_->max_body_bytes) + " bytes")),
           "size");
    return false;
  }
  return true;
}

asio::awaitable<Connection::Read> Connection::read_body() {
  error_code code;
  stream_.expires_after(Milliseconds(shared_.options.body_timeout_ms));
  if (beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
    static constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
    co_await asio::async_write(stream_, asio::buffer(kGoOn), asio::redirect_error(asio::use_awaitable, code));
    if (code) co_return Read::kClosed;
  }
  parser_->body_limit(route_->max_body_bytes);
  if (!parser_->is_done())
    co_await http::async_read(stream_, buffer_, *parser_, asio::redirect_error(asio::use_awaitable, code));
  if (!code) {
    request_.body = std::move(parser_->get().body());
    co_return Read::kOk;
  }
  if (code == http::error::body_limit) {
    refuse(error_response(too_large("the body may have at most " + std::to_string(route_->max_body_bytes) + " bytes")),
           "size");
    co_return Read::kRefused;
  }
  if (code.category() != http::make_error_code(http::error::bad_method).category() ||
      code == http::error::partial_message || code == http::error::end_of_stream) {
    if (code == beast::error::timeout) shared_.metrics.refused("slow");
    co_return Read::kClosed;
  }
  refuse(malformed(code), "malformed");
  co_return Read::kRefused;
}

asio::awaitable<bool> Connection::answer() {
  if (refusal_) {
    // What is left of the request is not read, so the connection cannot go on.
    const unsigned status = refusal_->status;
    const bool complete = parser_->is_done() && status != 400;
    const bool kept = co_await write(*std::move(refusal_), complete && parser_->keep_alive());
    finished(status);
    if (!kept) co_await linger();
    co_return kept;
  }
  const auto exchange = std::make_shared<LiveExchange>(stream_.get_executor(), std::move(request_));
  request_.trace_id = exchange->request().trace_id;
  exchange_ = exchange;
  co_return co_await run_handler(exchange);
}

asio::awaitable<bool> Connection::run_handler(std::shared_ptr<LiveExchange> exchange) {
  const auto task = [exchange, route = route_, &log = shared_.log] {
    Response response;
    const Caller& caller = exchange->request().caller;
    const PromptOwner owner(caller.tenant + "\n" + caller.key);
    try {
      response = route->handler(*exchange);
    } catch (const std::exception& error) {
      log.write(LogLevel::kError, "handler_failed",
                {{"trace_id", exchange->request().trace_id}, {"route", route->path}, {"what", error.what()}});
      response = error_response(Error{ErrorCode::kIo, error.what()});
    }
    exchange->finish(std::move(response));
  };
  if (route_->lane == Lane::kNow) {
    task();
  } else {
    WorkQueue& queue = route_->lane == Lane::kModel ? shared_.lanes.model : shared_.lanes.query;
    if (!queue.submit(task, exchange->stop())) {
      shared_.metrics.refused("queue_full");
      exchange->finish(error_response(overloaded("the server has as much to do as it takes on; try again")));
    }
    watch_for_close(exchange);
  }
  const auto deadline = SteadyClock::now() + Milliseconds(shared_.options.request_timeout_ms);
  LiveExchange::Step step = co_await exchange->next(deadline);
  const bool keep_alive = parser_->keep_alive() && !shared_.draining;
  bool kept = false;
  unsigned status = 200;
  if (step.next == LiveExchange::Next::kEvent) {
    kept = co_await write_stream(exchange, std::move(step.event), deadline);
  } else if (step.next == LiveExchange::Next::kGone) {
    status = 499;  // as others log a client that did not wait
  } else {
    if (step.next == LiveExchange::Next::kTimeout) step.response = error_response(Error{ErrorCode::kTimeout, ""});
    status = step.response.status;
    kept = co_await write(std::move(step.response), keep_alive);
  }
  finished(status);
  exchange_.reset();
  if (kept) {
    // Ends the watch; nothing else is under way on the socket.
    error_code ignored;
    stream_.socket().cancel(ignored);
  }
  co_return kept;
}

void Connection::watch_for_close(const std::shared_ptr<LiveExchange>& exchange) {
  stream_.socket().async_wait(asio::ip::tcp::socket::wait_read,
                              [self = shared_from_this(), exchange](const error_code& code) {
                                if (code || self->exchange_ != exchange) return;
                                error_code failed;
                                // Something to read that is nothing: the client has closed. Else it is the next
                                // request.
                                if (self->stream_.socket().available(failed) == 0 || failed) exchange->abandon();
                              });
}

asio::awaitable<bool> Connection::write(Response response, bool keep_alive) {
  http::response<http::string_body> message;
  message.version(11);
  message.result(response.status);
  set_common_headers(message, request_);
  message.set(http::field::content_type, response.content_type);
  for (const auto& [name, value] : response.headers) message.set(name, value);
  message.body() = std::move(response.body);
  message.keep_alive(keep_alive);
  // A client of HTTP/1.0 that asked for it waits for the end of the connection unless it is told.
  if (keep_alive && parser_->get().version() < 11) message.set(http::field::connection, "keep-alive");
  message.prepare_payload();
  sent_bytes_ = message.body().size();
  stream_.expires_after(Milliseconds(shared_.options.write_timeout_ms));
  error_code code;
  if (parser_->is_header_done() && parser_->get().method() == http::verb::head) {
    // The length that GET would have, and no body: what followed would be read as the next reply.
    http::response_serializer<http::string_body> serializer(message);
    co_await http::async_write_header(stream_, serializer, asio::redirect_error(asio::use_awaitable, code));
  } else {
    co_await http::async_write(stream_, message, asio::redirect_error(asio::use_awaitable, code));
  }
  co_return !code && keep_alive;
}

asio::awaitable<bool> Connection::write_stream(std::shared_ptr<LiveExchange> exchange, std::string first,
                                               SteadyClock::time_point deadline) {
  // A client of HTTP/1.0 knows no chunks: it gets the bytes as they are, until the connection closes.
  const bool chunked = parser_->get().version() >= 11;
  const bool keep_alive = chunked && parser_->keep_alive();
  http::response<http::empty_body> head;
  head.version(11);
  head.result(http::status::ok);
  set_common_headers(head, request_);
  head.set(http::field::content_type, "text/event-stream");
  head.chunked(chunked);
  head.keep_alive(keep_alive);
  http::response_serializer<http::empty_body> serializer(head);
  error_code code;
  stream_.expires_after(Milliseconds(shared_.options.write_timeout_ms));
  co_await http::async_write_header(stream_, serializer, asio::redirect_error(asio::use_awaitable, code));
  LiveExchange::Step step;
  step.next = LiveExchange::Next::kEvent;
  step.event = std::move(first);
  while (!code && step.next == LiveExchange::Next::kEvent) {
    stream_.expires_after(Milliseconds(shared_.options.write_timeout_ms));
    sent_bytes_ += step.event.size();
    if (chunked) {
      co_await asio::async_write(stream_, http::make_chunk(asio::buffer(step.event)),
                                 asio::redirect_error(asio::use_awaitable, code));
    } else {
      co_await asio::async_write(stream_, asio::buffer(step.event), asio::redirect_error(asio::use_awaitable, code));
    }
    if (code) break;
    step = co_await exchange->next(deadline);
  }
  if (code || step.next != LiveExchange::Next::kEnd) {
    // No end of chunks: the client sees that the answer is cut short.
    exchange->abandon();
    co_return false;
  }
  if (!chunked) co_return false;
  stream_.expires_after(Milliseconds(shared_.options.write_timeout_ms));
  co_await asio::async_write(stream_, http::make_chunk_last(), asio::redirect_error(asio::use_awaitable, code));
  co_return !code && keep_alive;
}

asio::awaitable<void> Connection::linger() {
  error_code code;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, code);
  stream_.expires_after(kLinger);
  std::string sink(64 * 1024, '\0');
  while (!code) co_await stream_.async_read_some(asio::buffer(sink), asio::redirect_error(asio::use_awaitable, code));
}

void Connection::finished(unsigned status) {
  const std::chrono::duration<double> took = SteadyClock::now() - began_;
  const std::string route = route_ != nullptr ? route_->path : "none";
  shared_.metrics.request(route, status, took.count());
  const Request& request = exchange_ ? exchange_->request() : request_;
  if (shared_.spans != nullptr && request.sampled && !request.span_id.empty()) {
    const auto method = request.method.substr(0, 16);
    shared_.spans->add({request.trace_id,
                        request.span_id,
                        request.parent_span,
                        method + " " + route,
                        true,
                        began_ns_,
                        unix_nanoseconds(),
                        status >= 500,
                        {{"http.request.method", method},
                         {"http.route", route},
                         {"http.response.status_code", static_cast<std::int64_t>(status)}}});
  }
  shared_.log.write(LogLevel::kInfo, "request",
                    {{"trace_id", request.trace_id},
                     {"method", request.method.substr(0, 16)},
                     {"route", route},
                     {"status", status},
                     {"ms", static_cast<std::int64_t>(took.count() * 1000)},
                     {"key", request.caller.key},
                     {"bytes_in", request.body.size()},
                     {"bytes_out", sent_bytes_}});
}

}  // namespace casemate::server
