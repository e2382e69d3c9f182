#include "log.h"

#include <array>

#include "casemate/core/clock.h"

namespace casemate::server {

void Log::write(LogLevel level, std::string_view event, const nlohmann::ordered_json& fields) {
  static constexpr std::array kNames = {"debug", "info", "warning", "error"};
  if (level < least_) return;
  nlohmann::ordered_json line = {{"time", format_utc(Clock::system().unix_seconds())},
                                 {"level", kNames.at(static_cast<std::size_t>(level))},
                                 {"event", event}};
  line.update(fields);
  const std::string text = line.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  const std::lock_guard lock(mutex_);
  out_ << text << std::flush;
}

}  // namespace casemate::server
