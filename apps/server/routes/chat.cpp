// POST /v1/chat/completions in OpenAI's shape.
#include <array>
#include <climits>
#include <set>

#include "../audit_log.h"
#include "../conversation.h"
#include "../disclosure.h"
#include "../disclosure_budget.h"
#include "../services.h"
#include "../spans.h"
#include "casemate/core/clock.h"

namespace casemate::server {
namespace {

/// Model names of this server: "casemate" is the default policy, "casemate:NAME" another one.
constexpr std::string_view kModel = "casemate";

struct AskedChat {
  std::string model;
  std::string policy_name;         ///< as the request names it; "": the default
  const Policy* policy = nullptr;  ///< what the request follows to its end
  bool withholds = false;          ///< passages, from this caller
  std::set<std::string> withheld;  ///< documents for which the caller's budget had no room
  Conversation conversation;
  QueryOptions options;
  bool stream = false;
  bool include_usage = false;
};

ApiError unsupported(std::string_view name, std::string_view what) {
  return {400, "invalid_request_error", "unsupported_parameter", std::string(name) + " " + std::string(what),
          std::string(name)};
}

/// What would change the answer's shape is refused; what only tunes sampling is ignored, since answers are greedy.
std::optional<ApiError> check_supported(const Json& body) {
  static constexpr std::array kNeeded = {"tools", "functions", "audio", "response_format", "logprobs"};
  for (const char* name : kNeeded) {
    const auto found = body.find(name);
    if (found == body.end() || found->is_null() || *found == Json(false)) continue;
    if (std::string_view(name) == "response_format" && found->is_object() && found->value("type", Json()) == "text")
      continue;
    if (found->is_array() && found->empty()) continue;
    return unsupported(name, "is not supported by this server");
  }
  const auto n = body.find("n");
  if (n != body.end() && !n->is_null() && *n != Json(1)) return unsupported("n", "must be 1: answers are greedy");
  return std::nullopt;
}

std::optional<ApiError> read_extension(const Json& extension, const Services& services, const Caller& caller,
                                       AskedChat& out) {
  Fields fields(extension, "casemate.");
  int top_k = 0;
  std::vector<std::string> options;
  fields.text("policy", out.policy_name, 128).integer("top_k", top_k, 1, services.limits().max_top_k);
  fields.texts("options", options, 26, 4096);
  read_filter(fields, "filter", caller, out.options.filter);
  if (top_k > 0) out.options.top_k = top_k;
  for (std::string& option : options) out.options.options.emplace_back(std::move(option));
  return fields.finish();
}

std::variant<AskedChat, ApiError> read_request(const Services& services, const Request& request, const Json& body) {
  AskedChat out;
  out.options.tenant = request.caller.tenant;
  const Json* messages = nullptr;
  const Json* extension = nullptr;
  const Json* stream_options = nullptr;
  Fields fields(body);
  fields.text("model", out.model, 256).required();
  fields.list("messages", messages, 1000).required();
  int max_tokens = 0;
  int max_completion_tokens = 0;
  fields.integer("max_tokens", max_tokens, 1, INT_MAX)
      .integer("max_completion_tokens", max_completion_tokens, 1, INT_MAX);
  fields.boolean("stream", out.stream).object("stream_options", stream_options).object("casemate", extension);
  if (auto wrong = fields.finish_ignoring_unknown()) return *std::move(wrong);
  if (auto wrong = check_supported(body)) return *std::move(wrong);
  if (out.model.starts_with("casemate:")) {
    out.policy_name = out.model.substr(kModel.size() + 1);
  } else if (out.model != kModel) {
    return ApiError{404, "invalid_request_error", "model_not_found",
                    "there is no model of that name; GET /v1/models lists them", "model"};
  }
  if (stream_options != nullptr) {
    Fields inner(*stream_options, "stream_options.");
    inner.boolean("include_usage", out.include_usage);
    if (auto wrong = inner.finish_ignoring_unknown()) return *std::move(wrong);
  }
  static const Json kNothing = Json::object();
  if (auto wrong = read_extension(extension != nullptr ? *extension : kNothing, services, request.caller, out))
    return *std::move(wrong);
  auto conversation = read_conversation(*messages, services.limits().max_question_bytes);
  if (auto* wrong = std::get_if<ApiError>(&conversation)) return std::move(*wrong);
  out.conversation = std::get<Conversation>(std::move(conversation));
  if (auto wrong = check_question_tokens(services, out.conversation.question.bytes(), "messages"))
    return *std::move(wrong);
  if (const int most = max_completion_tokens > 0 ? max_completion_tokens : max_tokens; most > 0)
    out.options.max_new_tokens = most;
  if (services.live.get().system_messages) out.options.style = out.conversation.style;
  return out;
}

std::string finish_reason(const Answer& answer) { return answer.finish_reason == "length" ? "length" : "stop"; }

Json usage_json(const Answer& answer) {
  return {{"prompt_tokens", answer.prompt_tokens},
          {"completion_tokens", answer.generated_tokens},
          {"total_tokens", answer.prompt_tokens + answer.generated_tokens}};
}

/// One answer's envelope and pieces.
class Completion {
 public:
  Completion(const AskedChat& asked, const Request& request)
      : id_("chatcmpl-" + request.trace_id), model_(asked.model), created_(casemate::Clock::system().unix_seconds()) {}

  [[nodiscard]] Json whole(const Answer& answer, Json about) const {
    Json out = head("chat.completion");
    out["choices"] =
        Json::array({{{"index", 0},
                      {"message", {{"role", "assistant"}, {"content", answer.text.for_json()}, {"refusal", nullptr}}},
                      {"logprobs", nullptr},
                      {"finish_reason", finish_reason(answer)}}});
    out["usage"] = usage_json(answer);
    out["casemate"] = std::move(about);
    return out;
  }
  [[nodiscard]] Json piece(Json delta, Json finish) const {
    Json out = head("chat.completion.chunk");
    out["choices"] = Json::array(
        {{{"index", 0}, {"delta", std::move(delta)}, {"logprobs", nullptr}, {"finish_reason", std::move(finish)}}});
    return out;
  }
  [[nodiscard]] Json usage_piece(const Answer& answer) const {
    Json out = head("chat.completion.chunk");
    out["choices"] = Json::array();
    out["usage"] = usage_json(answer);
    return out;
  }

 private:
  [[nodiscard]] Json head(const char* object) const {
    return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_}};
  }
  std::string id_;
  std::string model_;
  std::int64_t created_;
};

std::string event(const Json& data) {
  return "data: " + data.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n\n";
}

/// The field `casemate` of an answer.
Json about(const Services& services, const Request& request, const AskedChat& asked, const Answer& answer) {
  Json out = Json::parse(to_json(answer));
  Json about = {{"policy", out["policy"]},
                {"question", out["question"]},
                {"sources", std::move(out["sources"])},
                {"evidence", std::move(out["evidence"])},
                {"certificate", std::move(out["certificate"])},
                {"degraded", Json::array()},
                {"trace_id", request.trace_id}};
  for (const DegradedStage& each : answer.evidence.degraded) about["degraded"].push_back(each.stage);
  hide_folders(services, about);
  if (!sees_scores(services, request.caller)) hide_scores(about);
  if (asked.withholds) {
    hide_passages(about);
    about["withheld"] = Json::array();
    for (const std::string& document : asked.withheld) about["withheld"].push_back(UntrustedText(document).for_json());
  }
  return about;
}

/// By OpenTelemetry's conventions for generative models.
std::vector<std::pair<std::string, Span::Value>> chat_attributes(const Services& services, const AskedChat& asked,
                                                                 const Result<Answer>& answer) {
  const ModelInfo& model = services.engine.model()->info();
  std::vector<std::pair<std::string, Span::Value>> out = {{"gen_ai.operation.name", "chat"},
                                                          {"gen_ai.provider.name", model.backend},
                                                          {"gen_ai.request.model", model.name},
                                                          {"casemate.policy", asked.policy->name}};
  if (!answer) {
    out.emplace_back("error.type", std::string(error_code_name(answer.error().code)));
    return out;
  }
  out.emplace_back("gen_ai.usage.input_tokens", static_cast<std::int64_t>(answer->prompt_tokens));
  out.emplace_back("gen_ai.usage.output_tokens", static_cast<std::int64_t>(answer->generated_tokens));
  out.emplace_back("gen_ai.response.finish_reasons", finish_reason(*answer));
  for (const StageTime& each : answer->evidence.times)
    out.emplace_back("casemate.stage." + each.stage + ".seconds", each.seconds);
  return out;
}

Result<Answer> ask(const Services& services, const Exchange& exchange, const AskedChat& asked, const Pipeline& pipeline,
                   const std::function<void(const UntrustedText&)>& on_text) {
  const Request& request = exchange.request();
  const std::int64_t begin = unix_nanoseconds();
  const auto question = standalone_question(*services.engine.model(), asked.conversation, exchange.stop());
  if (!question) return question.error();
  auto answer = pipeline.ask(*question, asked.options, on_text, exchange.stop());
  add_child_span(services.spans, request, "chat " + services.engine.model()->info().name, begin, !answer.ok(),
                 chat_attributes(services, asked, answer));
  if (!answer) return answer;
  services.metrics.tokens(answer->prompt_tokens, answer->generated_tokens);
  services.metrics.evidence(answer->evidence);
  services.metrics.answer(answer->evidence.generation && answer->evidence.generation->certified,
                          !answer->certificate.empty());
  std::vector<Hit> hits;
  for (const Source& source : answer->sources) hits.push_back(source.hit);
  if (Status kept =
          record(services, request, asked.conversation.question.bytes(), answer->evidence, hits, answer->certificate);
      !kept)
    return kept.error();
  return answer;
}

Response stream(const Services& services, Exchange& exchange, const AskedChat& asked, const Pipeline& pipeline) {
  const Completion completion(asked, exchange.request());
  bool begun = false;
  const auto begin = [&] {
    if (std::exchange(begun, true)) return;
    (void)exchange.send_event(event(completion.piece({{"role", "assistant"}, {"content", ""}}, nullptr)));
  };
  std::size_t sent = 0;
  // A client that has gone is noticed by the stop token, which ends the generation.
  const auto answer = ask(services, exchange, asked, pipeline, [&](const UntrustedText& text) {
    begin();
    sent += text.size();
    (void)exchange.send_event(event(completion.piece({{"content", text.for_json()}}, nullptr)));
  });
  if (!answer) {
    const Response response = failed(services, exchange, answer.error());
    if (!begun) return response;  // nothing was sent yet, so the status can still be right
    (void)exchange.send_event("data: " + response.body + "\n\n");
    return response;
  }
  begin();
  if (sent == 0 && !answer->text.empty())
    (void)exchange.send_event(event(completion.piece({{"content", answer->text.for_json()}}, nullptr)));
  Json last = completion.piece(Json::object(), finish_reason(*answer));
  last["casemate"] = about(services, exchange.request(), asked, *answer);
  (void)exchange.send_event(event(last));
  if (asked.include_usage) (void)exchange.send_event(event(completion.usage_piece(*answer)));
  (void)exchange.send_event("data: [DONE]\n\n");
  return {};
}

Response complete(const Services& services, Exchange& exchange) {
  const Request& request = exchange.request();
  const auto body = read_object(request);
  if (const auto* wrong = std::get_if<ApiError>(&body)) return error_response(*wrong);
  auto read = read_request(services, request, std::get<Json>(body));
  if (const auto* wrong = std::get_if<ApiError>(&read)) return error_response(*wrong);
  AskedChat& asked = std::get<AskedChat>(read);
  const auto chosen = policy_for(services, request.caller, asked.policy_name);
  if (const auto* wrong = std::get_if<ApiError>(&chosen)) return error_response(*wrong);
  asked.policy = std::get<const Policy*>(chosen);
  asked.withholds = withholds_passages(request.caller, *asked.policy);
  if (asked.withholds) {
    asked.options.may_disclose = [&services, &asked, key = request.caller.key](const std::string& document,
                                                                               std::size_t count) {
      if (services.disclosures != nullptr && services.disclosures->take(key, document, count)) return true;
      asked.withheld.insert(document);
      return false;
    };
  }
  const auto pipeline = services.engine.pipeline(*asked.policy);
  if (!pipeline) return failed(services, exchange, pipeline.error());
  if (services.engine.model() == nullptr) return error_response(not_found("this server has no language model"));
  if (asked.stream) return stream(services, exchange, asked, **pipeline);
  const auto answer = ask(services, exchange, asked, **pipeline, {});
  if (!answer) return failed(services, exchange, answer.error());
  return json_response(Completion(asked, request).whole(*answer, about(services, request, asked, *answer)));
}

}  // namespace

void add_chat_routes(Router& router, const Services& services) {
  router.add({"POST", "/v1/chat/completions", Access::kReader, Lane::kModel, services.limits().max_body_bytes,
              [&services](Exchange& exchange) { return complete(services, exchange); }});
}

}  // namespace casemate::server
