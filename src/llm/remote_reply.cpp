#include "llm/remote_reply.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "casemate/core/utf8.h"

namespace casemate::llm {
namespace {

using Json = nlohmann::json;

/// Deepest nesting that is parsed: the protocol's own is below ten, and deep input costs stack.
constexpr int kMaxDepth = 32;

Json parse(std::string_view text) {
  bool too_deep = false;
  const auto limit = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kMaxDepth;
    return !too_deep;
  };
  Json json = Json::parse(to_valid_utf8(text), limit, false);
  return too_deep ? Json(Json::value_t::discarded) : json;
}

const Json& member(const Json& object, const char* name) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

std::size_t count(const Json& object, const char* name) {
  const Json& value = member(object, name);
  return value.is_number_unsigned() ? value.get<std::size_t>() : 0;
}

TokenLogProbability entry(const Json& json) {
  TokenLogProbability out;
  if (const Json& token = member(json, "token"); token.is_string()) out.text = token.get<std::string>();
  if (const Json& value = member(json, "logprob"); value.is_number()) out.log_probability = value.get<double>();
  return out;
}

/// {"content": [{"token", "logprob", "top_logprobs": [...]}]}, as /chat/completions gives it.
void read_chat_log_probabilities(const Json& json, RemoteReply& reply) {
  for (const Json& position : member(json, "content")) {
    GeneratedPosition out{entry(position), {}};
    for (const Json& other : member(position, "top_logprobs")) out.alternatives.push_back(entry(other));
    reply.positions.push_back(std::move(out));
  }
}

/// {"tokens": [...], "token_logprobs": [...], "top_logprobs": [{token: logprob}]}, as /completions gives it.
void read_plain_log_probabilities(const Json& json, RemoteReply& reply) {
  const Json& tokens = member(json, "tokens");
  const Json& values = member(json, "token_logprobs");
  const Json& tops = member(json, "top_logprobs");
  for (std::size_t i = 0; tokens.is_array() && i < tokens.size(); ++i) {
    GeneratedPosition out;
    if (tokens[i].is_string()) out.chosen.text = tokens[i].get<std::string>();
    if (values.is_array() && i < values.size() && values[i].is_number()) {
      out.chosen.log_probability = values[i].get<double>();
    }
    if (tops.is_array() && i < tops.size() && tops[i].is_object()) {
      for (const auto& [text, value] : tops[i].items()) {
        if (value.is_number()) out.alternatives.push_back({-1, text, value.get<double>()});
      }
    }
    reply.positions.push_back(std::move(out));
  }
}

}  // namespace

std::string remote_error_text(std::string_view body) {
  const Json json = parse(body);
  const Json& error = member(json, "error");
  const Json& message = error.is_object() ? member(error, "message") : error;
  const std::string text = message.is_string() ? message.get<std::string>() : std::string(body);
  return UntrustedText(text).for_log();
}

bool is_context_overflow(std::string_view body) {
  constexpr std::array<std::string_view, 4> kTold = {"context_length_exceeded", "exceed_context_size",
                                                     "maximum context length", "exceeds the available context size"};
  return std::any_of(kTold.begin(), kTold.end(),
                     [&](std::string_view words) { return body.find(words) != std::string_view::npos; });
}

Result<RemoteReply> parse_remote_reply(std::string_view text) {
  const auto wrong = [&](const std::string& what) {
    return Error{ErrorCode::kModel, "the reply is not of the OpenAI protocol: " + what + "; it begins " +
                                        UntrustedText(std::string(text.substr(0, 120))).for_log(120)};
  };
  const Json json = parse(text);
  if (json.is_discarded()) return wrong("no valid JSON");
  if (!member(json, "error").is_null()) {
    return Error{ErrorCode::kUnavailable, "the server reports: " + remote_error_text(text)};
  }
  RemoteReply reply;
  const Json& usage = member(json, "usage");
  reply.prompt_tokens = count(usage, "prompt_tokens");
  reply.generated_tokens = count(usage, "completion_tokens");
  reply.cached_tokens = count(member(usage, "prompt_tokens_details"), "cached_tokens");
  const Json& choices = member(json, "choices");
  if (!choices.is_array()) return wrong("no list \"choices\"");
  if (choices.empty()) return reply;  // a streamed reply's last event: usage alone
  const Json& choice = choices.front();
  const Json& message = member(choice, "message").is_object() ? member(choice, "message") : member(choice, "delta");
  const Json& content = message.is_object() ? member(message, "content") : member(choice, "text");
  if (content.is_string()) {
    reply.text = content.get<std::string>();
  } else if (!content.is_null() || !(message.is_object() || choice.contains("finish_reason"))) {
    return wrong("choices[0] has no text");
  }
  const Json& finish = member(choice, "finish_reason");
  if (finish.is_string()) {
    reply.finish = finish.get<std::string>() == "length" ? FinishReason::kLength : FinishReason::kEnd;
  }
  const Json& log_probabilities = member(choice, "logprobs");
  if (member(log_probabilities, "content").is_array()) {
    read_chat_log_probabilities(log_probabilities, reply);
  } else {
    read_plain_log_probabilities(log_probabilities, reply);
  }
  return reply;
}

}  // namespace casemate::llm
