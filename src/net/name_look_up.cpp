#include "net/name_look_up.h"

#include <boost/asio/io_context.hpp>
#include <charconv>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "casemate/core/untrusted_text.h"

namespace casemate {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Endpoints = std::vector<tcp::endpoint>;

constexpr std::chrono::milliseconds kSlice{50};  ///< how often the wait looks at the stop token

struct LookUp {
  std::mutex mutex;
  std::condition_variable done;
  bool finished = false;
  error_code code;
  Endpoints endpoints;
};

void resolve(LookUp& shared, const std::string& host, const std::string& port) {
  asio::io_context context;
  tcp::resolver resolver(context);
  error_code code;
  const auto found = resolver.resolve(host, port, tcp::resolver::numeric_service, code);
  const std::lock_guard lock(shared.mutex);
  shared.code = code;
  if (!code) {
    for (const auto& entry : found) shared.endpoints.push_back(entry.endpoint());
  }
}

}  // namespace

Result<Endpoints> look_up(const Url& url, std::chrono::steady_clock::time_point end, const std::stop_token& stop) {
  error_code no_address;
  const auto address = asio::ip::make_address(url.host, no_address);
  if (!no_address) {
    unsigned short port = 0;
    std::from_chars(url.port.data(), url.port.data() + url.port.size(), port);
    return Endpoints{tcp::endpoint(address, port)};
  }
  // The system's resolver can neither be stopped nor given a deadline, so it runs in a thread of its own, which is left
  // behind if it takes too long: it owns all that it touches and ends when the resolver gives up.
  const auto shared = std::make_shared<LookUp>();
  std::thread([shared, host = url.host, port = url.port] {
    try {
      resolve(*shared, host, port);
    } catch (const std::exception&) {
      const std::lock_guard lock(shared->mutex);
      shared->code = asio::error::no_memory;
    }
    const std::lock_guard lock(shared->mutex);
    shared->finished = true;
    shared->done.notify_all();
  }).detach();
  std::unique_lock lock(shared->mutex);
  while (!shared->finished) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "the caller asked to stop"};
    if (std::chrono::steady_clock::now() >= end)
      return Error{ErrorCode::kTimeout, "no answer in time: the name look-up took too long"};
    shared->done.wait_for(lock, kSlice);
  }
  if (shared->code) {
    return Error{ErrorCode::kUnavailable,
                 "the name look-up failed: " + UntrustedText(shared->code.message()).for_log()};
  }
  return shared->endpoints;
}

}  // namespace casemate
