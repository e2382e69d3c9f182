#include "casemate/llm/remote_llm.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "casemate/core/random.h"
#include "casemate/core/utf8.h"
#include "llm/remote_reply.h"
#include "llm/server_sent_events.h"
#include "llm/text_stream.h"
#include "net/http_client.h"

namespace casemate {
namespace llm {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

constexpr int kMostLogProbabilities = 20;

/// How one attempt ended: with an answer, or with an error that may be worth another one.
struct Attempt {
  std::optional<Generation> generation;
  Error error;
  bool may_retry = false;
  std::optional<milliseconds> wait;  ///< what the server asks for
};

std::string joined_text(const PromptMessage& message) {
  std::string text;
  for (const PromptPart& part : message.parts) text += part.text;
  return to_valid_utf8(text);
}

std::string request_body(const Prompt& prompt, const GenerateOptions& options, const std::string& model, bool stream) {
  Json body = {{"model", model},
               {"max_tokens", options.max_new_tokens},
               {"temperature", options.temperature},
               {"top_p", options.top_p},
               {"seed", options.seed & 0x7FFFFFFFU}};
  if (!options.stop.empty()) body["stop"] = options.stop;
  if (prompt.chat) {
    for (const PromptMessage& message : prompt.messages) {
      body["messages"].push_back({{"role", role_name(message.role)}, {"content", joined_text(message)}});
    }
    if (options.top_log_probabilities > 0) {
      body["logprobs"] = true;
      body["top_logprobs"] = options.top_log_probabilities;
    }
  } else {
    body["prompt"] = joined_text(prompt.messages.front());
    if (options.top_log_probabilities > 0) body["logprobs"] = options.top_log_probabilities;
  }
  if (stream) {
    body["stream"] = true;
    body["stream_options"] = {{"include_usage", true}};
  }
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Adds what a reply or an event says to a generation.
void add_reply(const RemoteReply& reply, Generation& generation) {
  generation.positions.insert(generation.positions.end(), reply.positions.begin(), reply.positions.end());
  if (reply.finish) generation.finish = *reply.finish;
  generation.prompt_tokens = std::max(generation.prompt_tokens, reply.prompt_tokens);
  generation.cached_tokens = std::max(generation.cached_tokens, reply.cached_tokens);
  generation.generated_tokens = std::max(generation.generated_tokens, reply.generated_tokens);
}

class RemoteLlm final : public LanguageModel {
 public:
  RemoteLlm(RemoteLlmOptions options, Url url, const Clock& clock)
      : options_(std::move(options)), url_(std::move(url)), clock_(clock), random_(options_.retry_seed, "llm/retry") {
    info_.name = options_.name.empty() ? options_.model : options_.name;
    info_.backend = "openai";
    info_.context_tokens = options_.context_tokens;
    info_.has_chat_template = true;
  }

  const ModelInfo& info() const noexcept override { return info_; }
  Capabilities capabilities() const noexcept override { return {Feature::kTopLogProbabilities}; }
  LlmUsage usage() const override {
    const std::lock_guard lock(mutex_);
    return usage_;
  }

  Result<Generation> generate(const Prompt& prompt, const GenerateOptions& options, std::stop_token stop,
                              const OnText& on_text) override {
    if (auto status = check(prompt, options); !status) return status.error();
    Prompt clean = prompt;
    const auto neutralised = neutralise_special_strings(clean);
    const std::string body = request_body(clean, options, options_.model, static_cast<bool>(on_text));
    const auto end = clock_.now() + milliseconds(options_.total_timeout_ms);
    for (int attempt = 0;; ++attempt) {
      const auto left = std::chrono::duration_cast<milliseconds>(end - clock_.now());
      Attempt result = try_once(clean, options, body, left, stop, on_text);
      if (result.generation) {
        result.generation->neutralised = neutralised;
        count(*result.generation);
        return std::move(*result.generation);
      }
      result.error.message = without_key(result.error.message);
      if (!result.may_retry || attempt >= options_.max_retries) return result.error.in(info_.name);
      const milliseconds wait = result.wait ? *result.wait : backoff(attempt);
      if (wait > milliseconds(options_.retry_limit_ms) || clock_.now() + wait >= end)
        return result.error.in(info_.name);
      if (!sleep(wait, stop)) return Error{ErrorCode::kCancelled, "the caller asked to stop"};
    }
  }

 private:
  Status check(const Prompt& prompt, const GenerateOptions& options) const {
    if (auto status = validate(options); !status) return status;
    if (prompt.messages.empty()) return Error{ErrorCode::kInvalidArgument, "the prompt is empty"};
    if (!options.grammar.empty()) {
      if (auto status = require(*this, {Feature::kGrammar}, "a grammar"); !status) return status;
    }
    if (options.top_k != 0) {
      return Error{ErrorCode::kUnsupported, "the OpenAI protocol has no top_k; use top_p or a model in process"};
    }
    if (options.top_log_probabilities > kMostLogProbabilities) {
      return Error{ErrorCode::kInvalidOption, "top_log_probabilities is " +
                                                  std::to_string(options.top_log_probabilities) +
                                                  "; remote models give at most 20"};
    }
    return {};
  }

  Attempt try_once(const Prompt& prompt, const GenerateOptions& options, const std::string& body, milliseconds left,
                   const std::stop_token& stop, const OnText& on_text) {
    Attempt attempt;
    HttpRequest request;
    request.url = url_;
    request.method = "POST";
    request.url.target += prompt.chat ? "/chat/completions" : "/completions";
    request.headers = {{"Content-Type", "application/json"}, {"User-Agent", "casemate"}};
    if (!options_.api_key.empty()) request.headers.emplace_back("Authorization", "Bearer " + options_.api_key);
    request.body = body;
    HttpOptions http;
    http.connect_timeout_ms = options_.connect_timeout_ms;
    http.idle_timeout_ms = options_.idle_timeout_ms;
    http.total_timeout_ms = static_cast<int>(std::max<std::int64_t>(1, left.count()));
    http.max_body_bytes = options_.max_response_bytes;
    http.verify_tls = options_.verify_tls;
    http.ca_file = options_.ca_file;

    Generation generation;
    TextStream text(options.stop, on_text);
    ServerSentEvents events;
    std::optional<Error> broken;
    bool finished = false;
    std::string whole;  // a server that does not stream answers in one piece
    const OnBody on_body = [&](std::string_view bytes) {
      for (const std::string& event : events.push(bytes)) {
        if (event == "[DONE]") return finished = true, false;
        auto reply = parse_remote_reply(event);
        if (!reply) return broken = reply.error(), false;
        add_reply(*reply, generation);
        finished = finished || reply->finish.has_value();
        if (!text.push(reply->text)) return finished = true, false;
      }
      if (text.text().empty()) whole += bytes;
      return true;
    };
    auto response = send_http(request, http, stop, on_text ? on_body : OnBody());
    if (!response) {
      attempt.error = response.error();
      const ErrorCode code = attempt.error.code;
      attempt.may_retry = text.text().empty() && (code == ErrorCode::kUnavailable || code == ErrorCode::kTimeout);
      return attempt;
    }
    if (response->head.status != 200) return failed(*response);
    const bool streamed = on_text && response->head.content_type.starts_with("text/event-stream");
    if (broken) return attempt.error = *broken, attempt;
    if (streamed && !finished) {
      attempt.error = {ErrorCode::kUnavailable, "the stream ended before the answer did"};
      attempt.may_retry = text.text().empty();
      return attempt;
    }
    if (!streamed) {
      auto reply = parse_remote_reply(on_text ? whole : response->body);
      if (!reply) return attempt.error = reply.error(), attempt;
      add_reply(*reply, generation);
      text.push(reply->text);
    }
    text.finish();
    if (text.met_stop_string()) generation.finish = FinishReason::kStopString;
    generation.text = UntrustedText(text.text());
    attempt.generation = std::move(generation);
    return attempt;
  }

  Attempt failed(const HttpResponse& response) const {
    Attempt attempt;
    const int status = response.head.status;
    ErrorCode code = ErrorCode::kUnavailable;
    if (status == 401 || status == 403) code = ErrorCode::kPermission;
    if (status == 404) code = ErrorCode::kNotFound;
    if (status == 400 || status == 405 || status == 413 || status == 415 || status == 422) {
      code = ErrorCode::kModel;  // our request, not the caller's: what the reply says may quote the prompt
    }
    const std::string text = remote_error_text(response.body);
    if (code == ErrorCode::kModel && is_context_overflow(response.body)) {
      attempt.error = {ErrorCode::kLimit, "the prompt is larger than the remote model's context"};
      return attempt;
    }
    attempt.error = {code, "the server answered " + std::to_string(status) + ": " + text};
    attempt.may_retry =
        status == 408 || status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
    int seconds = 0;
    const char* end = response.head.retry_after.data() + response.head.retry_after.size();
    const auto [rest, problem] = std::from_chars(response.head.retry_after.data(), end, seconds);
    if (problem == std::errc() && rest == end && seconds >= 0) attempt.wait = std::chrono::seconds(seconds);
    return attempt;
  }

  milliseconds backoff(int attempt) {
    const std::lock_guard lock(mutex_);
    const double full =
        std::min(static_cast<double>(options_.retry_limit_ms),
                 static_cast<double>(options_.retry_base_ms) * static_cast<double>(1U << std::min(attempt, 20)));
    return milliseconds(static_cast<std::int64_t>(full * (0.5 + 0.5 * random_.uniform())));
  }

  /// In short pieces, so that a stop is seen. False where one was.
  bool sleep(milliseconds duration, const std::stop_token& stop) const {
    constexpr milliseconds kPiece(100);
    for (milliseconds left = duration; left.count() > 0; left -= kPiece) {
      if (stop.stop_requested()) return false;
      clock_.sleep_for(std::min(left, kPiece));
    }
    return !stop.stop_requested();
  }

  std::string without_key(std::string text) const {
    if (options_.api_key.empty()) return text;
    for (std::size_t at = text.find(options_.api_key); at != std::string::npos; at = text.find(options_.api_key, at)) {
      text.replace(at, options_.api_key.size(), "***");
      at += 3;
    }
    return text;
  }

  void count(const Generation& generation) {
    const std::lock_guard lock(mutex_);
    ++usage_.calls;
    usage_.decoded_tokens += generation.prompt_tokens + generation.generated_tokens - generation.cached_tokens;
    usage_.reused_tokens += generation.cached_tokens;
  }

  RemoteLlmOptions options_;
  Url url_;
  const Clock& clock_;
  ModelInfo info_;
  mutable std::mutex mutex_;  ///< for what follows; requests run side by side
  RandomStream random_;
  LlmUsage usage_;
};

}  // namespace
}  // namespace llm

Result<std::unique_ptr<LanguageModel>> create_remote_llm(const RemoteLlmOptions& options, const Clock& clock) {
  const auto check = [](const char* field, std::int64_t value, std::int64_t low, std::int64_t high) -> Status {
    if (value >= low && value <= high) return {};
    return Error{ErrorCode::kInvalidOption, std::string(field) + " is " + std::to_string(value) + "; it must be in [" +
                                                std::to_string(low) + ", " + std::to_string(high) + "]"};
  };
  for (const Status& status :
       {check("connect_timeout_ms", options.connect_timeout_ms, 1, 600000),
        check("idle_timeout_ms", options.idle_timeout_ms, 1, 3600000),
        check("total_timeout_ms", options.total_timeout_ms, 1, 3600000),
        check("max_retries", options.max_retries, 0, 20), check("retry_base_ms", options.retry_base_ms, 1, 60000),
        check("retry_limit_ms", options.retry_limit_ms, 1, 600000),
        check("max_response_bytes",
              static_cast<std::int64_t>(std::min<std::uint64_t>(options.max_response_bytes, INT64_MAX)), 1024,
              std::int64_t{1} << 32U)}) {
    if (!status) return status.error();
  }
  if (options.model.empty())
    return Error{ErrorCode::kInvalidOption, "model is empty; the server's name for it is needed"};
  for (const char c : options.api_key) {
    if (static_cast<unsigned char>(c) < 0x20U || static_cast<unsigned char>(c) == 0x7FU) {
      return Error{ErrorCode::kInvalidOption, "api_key holds control characters (a line feed at its end?)"};
    }
  }
  auto url = parse_base_url(options.base_url);
  if (!url) return Error{ErrorCode::kInvalidOption, "base_url: " + url.error().message};
  return std::unique_ptr<LanguageModel>(std::make_unique<llm::RemoteLlm>(options, std::move(*url), clock));
}

}  // namespace casemate
