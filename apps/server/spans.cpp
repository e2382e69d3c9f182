#include "spans.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "net/http_client.h"
#include "trace.h"

namespace casemate::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kKindInternal = 1;
constexpr int kKindServer = 2;
constexpr int kStatusError = 2;
constexpr std::chrono::milliseconds kFirstPause{200};

Json value_json(const Span::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return {{"stringValue", *text}};
  // 64-bit integers are strings in protobuf's JSON.
  if (const auto* number = std::get_if<std::int64_t>(&value)) return {{"intValue", std::to_string(*number)}};
  if (const auto* real = std::get_if<double>(&value)) return {{"doubleValue", *real}};
  return {{"boolValue", std::get<bool>(value)}};
}

Json attributes_json(const std::vector<std::pair<std::string, Span::Value>>& attributes) {
  Json out = Json::array();
  for (const auto& [key, value] : attributes) out.push_back({{"key", key}, {"value", value_json(value)}});
  return out;
}

Json span_json(const Span& span) {
  Json out = {{"traceId", span.trace_id}, {"spanId", span.id}};
  if (!span.parent.empty()) out["parentSpanId"] = span.parent;
  out["name"] = span.name;
  out["kind"] = span.of_server ? kKindServer : kKindInternal;
  out["startTimeUnixNano"] = std::to_string(span.begin_ns);
  out["endTimeUnixNano"] = std::to_string(span.end_ns);
  out["attributes"] = attributes_json(span.attributes);
  out["status"] = span.failed ? Json{{"code", kStatusError}} : Json::object();
  return out;
}

bool worth_another_try(const Result<HttpResponse>& reply) {
  if (!reply) return reply.error().code != ErrorCode::kCancelled;
  return reply->head.status == 429 || reply->head.status == 502 || reply->head.status == 503 ||
         reply->head.status == 504;
}

}  // namespace

std::int64_t unix_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string spans_json(const std::vector<Span>& spans, const std::string& service) {
  Json list = Json::array();
  for (const Span& span : spans) list.push_back(span_json(span));
  const Json scope = {{"scope", {{"name", "casemate"}}}, {"spans", std::move(list)}};
  const Json resource = {{"attributes", attributes_json({{"service.name", service}})}};
  const Json all = {{"resourceSpans", Json::array({{{"resource", resource}, {"scopeSpans", Json::array({scope})}}})}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void add_child_span(SpanExporter* exporter, const Request& request, std::string name, std::int64_t begin_ns,
                    bool failed, std::vector<std::pair<std::string, Span::Value>> attributes) {
  if (exporter == nullptr || !request.sampled) return;
  exporter->add({request.trace_id, new_span_id(), request.span_id, std::move(name), false, begin_ns, unix_nanoseconds(),
                 failed, std::move(attributes)});
}

Result<std::unique_ptr<SpanExporter>> SpanExporter::create(const SpanOptions& options, Metrics& metrics) {
  const auto url = parse_url(options.endpoint);
  if (!url) return url.error().in("the collector's address");
  std::unique_ptr<SpanExporter> exporter(new SpanExporter(options, metrics));
  exporter->thread_ = std::jthread([raw = exporter.get()] { raw->work(); });
  return exporter;
}

SpanExporter::~SpanExporter() {
  std::unique_lock lock(mutex_);
  ending_ = true;
  changed_.notify_all();
  // `work` ends when nothing waits; what the collector does not take in time is given up.
  changed_.wait_for(lock, std::chrono::milliseconds(options_.drain_timeout_ms), [this] { return waiting_.empty(); });
  const std::size_t lost = waiting_.size();
  waiting_.clear();
  lock.unlock();
  if (lost > 0) metrics_.spans("dropped", lost);
  give_up_.request_stop();
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SpanExporter::add(Span span) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() < options_.capacity && !ending_) {
      waiting_.push_back(std::move(span));
      if (waiting_.size() >= options_.batch) changed_.notify_all();
      return;
    }
  }
  metrics_.spans("dropped", 1);
}

void SpanExporter::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait_for(lock, std::chrono::milliseconds(options_.interval_ms),
                      [this] { return ending_ || waiting_.size() >= options_.batch; });
    if (waiting_.empty()) {
      if (ending_) return;
      continue;
    }
    // They stay in the queue until they are sent: so they count into its bound, and the end waits for them.
    const std::size_t count = std::min(waiting_.size(), options_.batch);
    const std::vector<Span> some(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
    lock.unlock();
    send(some);
    lock.lock();
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(count, waiting_.size())));
    changed_.notify_all();
  }
}

void SpanExporter::send(const std::vector<Span>& spans) {
  const auto url = parse_url(options_.endpoint);
  HttpRequest request;
  request.method = "POST";
  request.url = *url;
  if (request.url.target == "/") request.url.target = "/v1/traces";
  request.headers = {{"Content-Type", "application/json"}};
  request.body = spans_json(spans, options_.service);
  HttpOptions limits;
  limits.connect_timeout_ms = limits.idle_timeout_ms = limits.total_timeout_ms = options_.timeout_ms;
  limits.max_body_bytes = 1U << 20U;
  auto pause = kFirstPause;
  for (int attempt = 1;; ++attempt) {
    const auto reply = send_http(request, limits, give_up_.get_token());
    if (reply && reply->head.status / 100 == 2) return metrics_.spans("exported", spans.size());
    if (attempt >= options_.attempts || !worth_another_try(reply)) break;
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, give_up_.get_token(), pause, [] { return false; }) || give_up_.stop_requested()) break;
    pause *= 2;
  }
  if (!give_up_.stop_requested()) metrics_.spans("failed", spans.size());
}

}  // namespace casemate::server
