// The meeting point of a handler in its lane and the coroutine that moves the bytes.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "message.h"

namespace casemate::server {

/// Shared by both sides; each may leave first. The handler's side (`Exchange`, `finish`) is for one thread, the other
/// for the coroutine's.
class LiveExchange final : public Exchange, public std::enable_shared_from_this<LiveExchange> {
 public:
  LiveExchange(boost::asio::any_io_executor executor, Request request)
      : request_(std::move(request)), wake_(std::move(executor)) {}

  // The handler's side.
  const Request& request() const noexcept override { return request_; }
  std::stop_token stop() const noexcept override { return stop_.get_token(); }
  bool send_event(std::string event) override;
  bool streaming() const noexcept override { return streaming_; }
  void finish(Response response);

  // The coroutine's side.
  enum class Next {
    kEvent,     ///< `event` has a piece of the stream
    kEnd,       ///< the stream is over
    kResponse,  ///< `response` has the whole answer
    kTimeout,   ///< the deadline has passed: the handler was told to stop and is not waited for
    kGone,      ///< the client has gone, or the server ends
  };
  struct Step {
    Next next = Next::kGone;
    std::string event{};
    Response response{};
  };
  [[nodiscard]] boost::asio::awaitable<Step> next(std::chrono::steady_clock::time_point deadline);
  /// Cancels the work and wakes the coroutine. Only from the coroutine's thread.
  void abandon();

 private:
  [[nodiscard]] std::optional<Step> take();
  void notify();

  Request request_;
  std::stop_source stop_;
  std::atomic<bool> streaming_ = false;
  boost::asio::steady_timer wake_;  ///< used by the coroutine's thread only
  bool gone_ = false;               ///< likewise

  std::mutex mutex_;
  std::condition_variable_any space_;
  std::deque<std::string> events_;
  std::size_t bytes_ = 0;  ///< in `events_`
  std::optional<Response> response_;
};

}  // namespace casemate::server
