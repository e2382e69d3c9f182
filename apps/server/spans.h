// Spans of requests, sent to an OpenTelemetry collector as OTLP/HTTP JSON.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "casemate/core/status.h"
#include "message.h"
#include "metrics.h"

namespace casemate::server {

/// No attribute has text of questions, documents or answers.
struct Span {
  using Value = std::variant<std::string, std::int64_t, double, bool>;
  std::string trace_id;  ///< 32 hexadecimal digits
  std::string id;        ///< 16
  std::string parent;    ///< 16, or empty
  std::string name;
  bool of_server = false;     ///< the request itself; else something that it asked for
  std::int64_t begin_ns = 0;  ///< since 1970 UTC
  std::int64_t end_ns = 0;
  bool failed = false;
  std::vector<std::pair<std::string, Value>> attributes{};
};

struct SpanOptions {
  std::string endpoint;  ///< "http://127.0.0.1:4318/v1/traces"; https works too
  std::string service = "casemate";
  std::size_t capacity = 2048;  ///< spans that may wait; further ones are dropped and counted; >= 1
  std::size_t batch = 256;      ///< spans of one request to the collector; >= 1
  int interval_ms = 1000;       ///< a batch that is not full is sent after so long
  int timeout_ms = 5000;        ///< for one request to the collector
  int attempts = 3;             ///< where the collector is away or busy (429, 502, 503, 504), with pauses
  int drain_timeout_ms = 3000;  ///< for what waits at the end
};

/// Thread-safe. `add` never waits for the collector.
class SpanExporter {
 public:
  /// `metrics` must outlive it. Error: InvalidOption (an endpoint that is no address).
  [[nodiscard]] static Result<std::unique_ptr<SpanExporter>> create(const SpanOptions& options, Metrics& metrics);
  /// Sends what waits, at most for `drain_timeout_ms`.
  ~SpanExporter();

  void add(Span span);

 private:
  SpanExporter(SpanOptions options, Metrics& metrics) : options_(std::move(options)), metrics_(metrics) {}
  void work();
  void send(const std::vector<Span>& spans);

  const SpanOptions options_;
  Metrics& metrics_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Span> waiting_;
  bool ending_ = false;
  std::stop_source give_up_;
  std::jthread thread_;
};

/// The spans as an ExportTraceServiceRequest in OTLP's JSON.
[[nodiscard]] std::string spans_json(const std::vector<Span>& spans, const std::string& service);

/// Now, in nanoseconds since 1970 UTC.
[[nodiscard]] std::int64_t unix_nanoseconds();

/// A span of something that `request` asks for, from `begin_ns` until now; nothing where `exporter` is null or the
/// caller does not sample the trace.
void add_child_span(SpanExporter* exporter, const Request& request, std::string name, std::int64_t begin_ns,
                    bool failed, std::vector<std::pair<std::string, Span::Value>> attributes);

}  // namespace casemate::server
