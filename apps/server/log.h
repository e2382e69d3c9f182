// One JSON object a line.
#pragma once

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>

namespace casemate::server {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Thread-safe. What is not valid UTF-8 is replaced; document text never goes here.
class Log {
 public:
  /// `out` must outlive it.
  Log(std::ostream& out, LogLevel least) : out_(out), least_(least) {}
  void set_level(LogLevel least) { least_ = least; }
  /// {"time", "level", "event", ...fields}.
  void write(LogLevel level, std::string_view event, const nlohmann::ordered_json& fields);

 private:
  std::mutex mutex_;
  std::ostream& out_;
  std::atomic<LogLevel> least_;
};

}  // namespace casemate::server
