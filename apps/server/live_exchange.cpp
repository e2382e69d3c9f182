#include "live_exchange.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace casemate::server {
namespace {

/// A handler that is this far ahead of a slow client waits.
constexpr std::size_t kMaxBufferedBytes = 256 * 1024;

}  // namespace

bool LiveExchange::send_event(std::string event) {
  {
    std::unique_lock lock(mutex_);
    const bool room = space_.wait(lock, stop_.get_token(), [this] { return bytes_ < kMaxBufferedBytes; });
    if (!room || stop_.stop_requested()) return false;
    streaming_ = true;
    bytes_ += event.size();
    events_.push_back(std::move(event));
  }
  notify();
  return true;
}

void LiveExchange::finish(Response response) {
  {
    const std::lock_guard lock(mutex_);
    response_ = std::move(response);
  }
  notify();
}

void LiveExchange::notify() {
  boost::asio::post(wake_.get_executor(), [self = shared_from_this()] { self->wake_.cancel(); });
}

void LiveExchange::abandon() {
  gone_ = true;
  stop_.request_stop();
  wake_.cancel();
}

std::optional<LiveExchange::Step> LiveExchange::take() {
  if (gone_) return Step{Next::kGone};
  std::unique_lock lock(mutex_);
  if (!events_.empty()) {
    Step step{Next::kEvent};
    // One write for all that is there.
    for (std::string& event : events_) step.event += event;
    events_.clear();
    bytes_ = 0;
    lock.unlock();
    space_.notify_all();
    return step;
  }
  if (!response_) return std::nullopt;
  if (streaming_) return Step{Next::kEnd};
  return Step{Next::kResponse, {}, *std::move(response_)};
}

boost::asio::awaitable<LiveExchange::Step> LiveExchange::next(std::chrono::steady_clock::time_point deadline) {
  while (true) {
    if (auto step = take()) co_return *std::move(step);
    if (std::chrono::steady_clock::now() >= deadline) {
      stop_.request_stop();
      co_return Step{Next::kTimeout};
    }
    // Nothing runs between the look above and the wait: whoever notifies posts to this thread.
    boost::system::error_code ignored;
    wake_.expires_at(deadline);
    co_await wake_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
  }
}

}  // namespace casemate::server
