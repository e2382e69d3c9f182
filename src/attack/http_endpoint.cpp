#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "attack/endpoint_failure.h"
#include "attack/request_template.h"
#include "casemate/attack/rag_endpoint.h"
#include "casemate/core/hash.h"
#include "formats/json_value.h"
#include "net/http_client.h"

namespace casemate {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using Time = std::chrono::steady_clock;

constexpr int kMaxNesting = 200;
constexpr int kFirstBackoffMs = 500;
constexpr int kJobPollMs = 100;

/// In short pieces, so that a stop is seen. False where one was.
bool sleep_for(milliseconds duration, const std::stop_token& stop) {
  const Time::time_point end = Time::now() + duration;
  while (Time::now() < end) {
    if (stop.stop_requested()) return false;
    std::this_thread::sleep_for(
        std::min(milliseconds(20), std::chrono::duration_cast<milliseconds>(end - Time::now())));
  }
  return !stop.stop_requested();
}

class HttpEndpoint final : public RagEndpoint {
 public:
  HttpEndpoint(Url url, const EndpointAdapter& adapter) : url_(std::move(url)), adapter_(adapter) {}

  std::string name() const override { return adapter_.name; }
  bool chooses_ids() const noexcept override { return !adapter_.add_id.empty(); }
  bool stores_by_jobs() const noexcept override { return !adapter_.add_job.empty(); }
  bool removes_one() const noexcept override { return adapter_.remove.has_value(); }

  std::string identity() const override {
    FieldHasher hasher;
    const auto request = [&hasher](const EndpointRequest& each) {
      for (const std::string* part : {&each.method, &each.path, &each.body}) hasher.add(*part);
    };
    hasher.add(adapter_.name);
    for (const auto& [name, value] : adapter_.headers) hasher.add(name + ": " + without_secrets(value, adapter_));
    request(adapter_.add);
    hasher.add(std::to_string(adapter_.settle_ms));
    request(adapter_.ask);
    for (const std::string* place : {&adapter_.answer, &adapter_.finish, &adapter_.sources, &adapter_.retrieved})
      hasher.add(*place);
    for (const std::string& word : adapter_.cut_short) hasher.add(word);
    if (adapter_.retrieve) request(*adapter_.retrieve);
    return to_hex(hasher.finish());
  }

  Result<EndpointAddition> add(const std::string& id, const UntrustedText& title, const UntrustedText& text,
                               const std::stop_token& stop) override {
    const auto reply = exchange("add", adapter_.add, {{"id", id}, {"title", title.bytes()}, {"text", text.bytes()}},
                                stop, kAddRetries);
    if (!reply) return reply.error();
    EndpointAddition out{id, {}};
    for (const auto& [place, value] : {std::pair(&adapter_.add_job, &out.job), {&adapter_.add_id, &out.id}}) {
      if (place->empty()) continue;
      auto said = text_at(*reply, "add", *place);
      if (!said) return said.error();
      *value = *std::move(said);
    }
    return out;
  }

  Result<bool> wait_for(const std::string& job, const std::stop_token& stop) override {
    if (!adapter_.job) return unsupported("job");
    const Time::time_point end = Time::now() + milliseconds(adapter_.timeout_ms);
    while (true) {
      const auto reply = exchange("job", *adapter_.job, {{"job", job}}, stop, kMustBeJson);
      if (!reply) return reply.error();
      const auto state = text_at(*reply, "job", adapter_.job_state);
      if (!state) return state.error();
      const auto is_in = [&state](const std::vector<std::string>& values) {
        return std::find(values.begin(), values.end(), *state) != values.end();
      };
      if (is_in(adapter_.job_done)) return true;
      if (is_in(adapter_.job_failed)) return false;
      if (Time::now() >= end) {
        return Error{ErrorCode::kTimeout,
                     "job " + UntrustedText(job).for_log() + " is still \"" + UntrustedText(*state).for_log() + "\""};
      }
      if (!sleep_for(milliseconds(kJobPollMs), stop)) return stopped();
    }
  }

  Status settle(const std::stop_token& stop) override {
    if (!sleep_for(milliseconds(adapter_.settle_ms), stop)) return stopped();
    return {};
  }

  EndpointRemoval remove(const std::string& id, const std::stop_token& stop) override {
    using End = EndpointRemoval::End;
    if (!adapter_.remove) return {End::kFailed, unsupported("delete")};
    bool is_unclear = false;
    const auto reply = exchange("delete", *adapter_.remove, {{"id", id}}, stop, kMayBeGone, &is_unclear);
    if (!reply) return {is_unclear ? End::kUnknown : End::kFailed, reply.error()};
    // After an attempt whose reply was lost, the document is gone by that one.
    if (*reply != kNotThere || is_unclear) return {End::kRemoved, {}};
    return {
        End::kNotThere,
        {ErrorCode::kNotFound, request_name("delete", *adapter_.remove) + ": the system says that it is not there"}};
  }

  Status reset(const std::stop_token& stop) override {
    if (!adapter_.reset) return unsupported("reset");
    const auto reply = exchange("reset", *adapter_.reset, {}, stop, kAnyReply);
    return reply ? Status() : Status(reply.error());
  }

  Result<EndpointAnswer> ask(const UntrustedText& question, const std::stop_token& stop) override {
    const TemplateValues values = {{"question", question.bytes()}};
    const auto reply = exchange("ask", adapter_.ask, values, stop, kMustBeJson);
    if (!reply) return reply.error();
    EndpointAnswer out;
    const auto places = at_json_path(*reply, adapter_.answer);
    if (places.empty()) return missing("ask", "answer", adapter_.answer);
    // A null answer is an empty one: some systems decline so.
    if (!places[0]->is_string() && !places[0]->is_null()) return missing("ask", "text", adapter_.answer);
    if (places[0]->is_string()) out.text = UntrustedText(places[0]->get<std::string>());
    if (!adapter_.finish.empty()) {
      const auto finish = at_json_path(*reply, adapter_.finish);
      const std::string why = !finish.empty() && finish[0]->is_string() ? finish[0]->get<std::string>() : "";
      out.cut_short = std::find(adapter_.cut_short.begin(), adapter_.cut_short.end(), why) != adapter_.cut_short.end();
    }
    if (!adapter_.sources.empty()) out.retrieved = ids_at(*reply, adapter_.sources);
    if (!adapter_.retrieve) return out;
    const auto found = exchange("retrieve", *adapter_.retrieve, values, stop, kMustBeJson);
    if (!found) return found.error();
    out.retrieved = ids_at(*found, adapter_.retrieved);
    return out;
  }

 private:
  enum Rule : std::uint8_t { kMustBeJson, kAddRetries, kAnyReply, kMayBeGone };
  static constexpr bool kNotThere = false;  ///< what `exchange` returns for it under kMayBeGone

  static Error unsupported(const char* what) {
    return {ErrorCode::kUnsupported, std::string("the adapter has no ") + what};
  }
  static Error stopped() { return {ErrorCode::kCancelled, "stopped"}; }

  [[nodiscard]] std::string request_name(const char* what, const EndpointRequest& request) const {
    return std::string(what) + " (" + request.method + " " + url_.origin() + url_.target + request.path + ")";
  }

  [[nodiscard]] Error missing(const char* what, const char* thing, const std::string& pointer) const {
    return {ErrorCode::kInvalidInput,
            std::string(what) + ": the reply has no " + thing + " at " + UntrustedText(pointer).for_log()};
  }

  [[nodiscard]] Result<std::string> text_at(const json& reply, const char* what, const std::string& pointer) const {
    const auto found = at_json_path(reply, pointer);
    if (!found.empty() && found[0]->is_string()) return found[0]->get<std::string>();
    if (!found.empty() && found[0]->is_number_integer()) return found[0]->dump();
    return missing(what, "id", pointer);
  }

  static std::vector<std::string> ids_at(const json& reply, const std::string& pointer) {
    std::vector<std::string> out;
    for (const json* each : at_json_path(reply, pointer)) {
      if (each->is_string()) out.push_back(each->get<std::string>());
      if (each->is_number_integer()) out.push_back(each->dump());
    }
    return out;
  }

  /// Sends a request until it has an answer or there is no sense in trying again. `is_unclear` is set where an attempt
  /// that failed may have done what was asked.
  Result<json> exchange(const char* what, const EndpointRequest& request, const TemplateValues& values,
                        const std::stop_token& stop, Rule rule, bool* is_unclear = nullptr) {
    for (int attempt = 0;; ++attempt) {
      EndpointFailure failure;
      auto reply = try_once(request, values, stop, rule, failure);
      if (reply) return *std::move(reply);
      if (is_unclear != nullptr) *is_unclear = *is_unclear || failure.is_unclear;
      if (failure.error.code == ErrorCode::kCancelled) return failure.error;
      Error error{failure.error.code,
                  request_name(what, request) + ": " + without_secrets(failure.error.message, adapter_)};
      // Sent again, an addition under an id of the system's own could be there twice.
      if (rule == kAddRetries && chooses_ids() && failure.is_unclear) {
        error.message += " (whether it was added is not known, so it is not sent again)";
        return error;
      }
      if (!failure.may_retry || attempt >= adapter_.max_retries) return error;
      const milliseconds wait = failure.wait.value_or(milliseconds(kFirstBackoffMs << std::min(attempt, 10)));
      if (wait > milliseconds(adapter_.retry_limit_ms)) {
        return Error{error.code, error.message + " (asks to wait " + std::to_string(wait.count() / 1000) +
                                     " s, longer than retry_limit_ms)"};
      }
      if (!sleep_for(wait, stop)) return stopped();
    }
  }

  std::optional<json> try_once(const EndpointRequest& request, const TemplateValues& values,
                               const std::stop_token& stop, Rule rule, EndpointFailure& failure) const {
    HttpRequest message;
    message.url = url_;
    message.url.target += fill_path(request.path, values);
    message.method = request.method;
    message.headers = {{"User-Agent", "casemate-redteam"}, {"Accept", "application/json"}};
    message.body = fill_body(request.body, values);
    if (!message.body.empty()) message.headers.emplace_back("Content-Type", "application/json");
    message.headers.insert(message.headers.end(), adapter_.headers.begin(), adapter_.headers.end());
    HttpOptions options;
    options.connect_timeout_ms = std::min(options.connect_timeout_ms, adapter_.timeout_ms);
    options.idle_timeout_ms = adapter_.timeout_ms;
    options.total_timeout_ms = adapter_.timeout_ms;
    options.max_body_bytes = adapter_.max_reply_bytes;
    options.ca_file = adapter_.ca_file;
    options.was_sent = &failure.is_unclear;
    const auto response = send_http(message, options, stop);
    if (!response) {
      failure.error = response.error();
      failure.may_retry = failure.error.code == ErrorCode::kUnavailable;
      return std::nullopt;
    }
    if (response->head.status / 100 != 2) {
      if (rule == kMayBeGone && (response->head.status == 404 || response->head.status == 410)) return json(kNotThere);
      failure = refusal(*response, adapter_);
      return std::nullopt;
    }
    const bool wants_json =
        rule == kMustBeJson || (rule == kAddRetries && !(adapter_.add_id + adapter_.add_job).empty());
    if (!wants_json) return json();
    auto parsed = parse_json(response->body, kMaxNesting);
    if (parsed) return *std::move(parsed);
    failure.error = {ErrorCode::kInvalidInput,
                     "the reply (" + UntrustedText(response->head.content_type).for_log(60) + ") is no JSON: \"" +
                         UntrustedText(without_secrets(response->body.substr(0, 400), adapter_)).for_log(120) + "\""};
    return std::nullopt;
  }

  Url url_;
  EndpointAdapter adapter_;
};

}  // namespace

Result<std::unique_ptr<RagEndpoint>> connect_endpoint(const std::string& url, const EndpointAdapter& adapter) {
  auto parsed = parse_base_url(url);
  if (!parsed) return Error{ErrorCode::kInvalidOption, parsed.error().message};
  return std::unique_ptr<RagEndpoint>(std::make_unique<HttpEndpoint>(*std::move(parsed), adapter));
}

}  // namespace casemate
