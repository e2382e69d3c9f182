// POST /v1/answer: an answer from passages that the client brings, undefended or by isolated groups.
#include "../audit_log.h"
#include "../disclosure.h"
#include "../services.h"
#include "../spans.h"
#include "casemate/certify/certify_answer.h"
#include "casemate/certify/make_certificate.h"
#include "casemate/core/clock.h"
#include "casemate/generate/vanilla.h"

namespace casemate::server {
namespace {

struct AskedAnswer {
  Question question;
  std::vector<std::string> ids;  ///< the client's names of the passages
  std::vector<PromptPassage> passages;
  std::string method = "keyword";
  int group_size = 1;
  int max_new_tokens = 0;  ///< 0: the method's
  bool certify = false;
};

std::optional<ApiError> read_passage(const Json& value, const Limits& limits, AskedAnswer& out) {
  const std::string where = "passages[" + std::to_string(out.passages.size()) + "]";
  std::string id = std::to_string(out.passages.size() + 1);
  std::string title;
  std::string text;
  if (value.is_string()) {
    text = value.get<std::string>();
    if (text.size() > limits.max_passage_bytes) return too_large(where + " is too long");
  } else if (value.is_object()) {
    Fields fields(value, where + ".");
    fields.text("id", id, 2048).text("title", title, 4096);
    fields.text("text", text, limits.max_passage_bytes).required();
    if (auto wrong = fields.finish()) return wrong;
  } else {
    return ApiError{400, "invalid_request_error", "invalid_value", where + " must be a string or an object {id, text}",
                    where};
  }
  out.ids.push_back(std::move(id));
  out.passages.push_back({UntrustedText(std::move(title)), UntrustedText(std::move(text))});
  return std::nullopt;
}

std::optional<ApiError> read_asked(const Limits& limits, const Json& body, AskedAnswer& out) {
  std::string question;
  std::vector<std::string> options;
  const Json* passages = nullptr;
  bool long_text = false;
  Fields fields(body);
  fields.text("question", question, limits.max_question_bytes).required();
  fields.list("passages", passages, limits.max_passages).required();
  fields.text("method", out.method, 32).integer("group_size", out.group_size, 1, 100);
  fields.texts("options", options, 26, 4096).boolean("long", long_text).boolean("certify", out.certify);
  fields.integer("max_new_tokens", out.max_new_tokens, 1, 1024);
  if (question.find_first_not_of(" \t\r\n") == std::string::npos) fields.wrong("question", "must not be blank");
  if (passages != nullptr && passages->empty()) fields.wrong("passages", "must hold at least one passage");
  if (out.method == "vanilla" && out.certify)
    fields.wrong("certify", "needs a method with isolated groups: voting, keyword or decoding");
  if (auto wrong = fields.finish()) return wrong;
  out.question.text = UntrustedText(std::move(question));
  for (std::string& option : options) out.question.options.emplace_back(std::move(option));
  if (!options.empty()) {
    out.question.task = AnswerTask::kMultipleChoice;
  } else if (long_text) {
    out.question.task = AnswerTask::kLongText;
  }
  for (const Json& passage : *passages) {
    if (auto wrong = read_passage(passage, limits, out)) return wrong;
  }
  return std::nullopt;
}

void add_span(const Services& services, const Request& request, const AskedAnswer& asked, std::int64_t begin,
              bool failed, std::size_t input, std::size_t output) {
  const ModelInfo& model = services.engine.model()->info();
  std::vector<std::pair<std::string, Span::Value>> attributes = {{"gen_ai.operation.name", "text_completion"},
                                                                 {"gen_ai.provider.name", model.backend},
                                                                 {"gen_ai.request.model", model.name},
                                                                 {"casemate.method", asked.method}};
  if (!failed) {
    attributes.emplace_back("gen_ai.usage.input_tokens", static_cast<std::int64_t>(input));
    attributes.emplace_back("gen_ai.usage.output_tokens", static_cast<std::int64_t>(output));
  }
  add_child_span(services.spans, request, "text_completion " + model.name, begin, failed, std::move(attributes));
}

/// What an answer was made of, for the audit.
Response finish(const Services& services, Exchange& exchange, const AskedAnswer& asked, Json out,
                const std::string& certificate) {
  const Request& request = exchange.request();
  Evidence evidence;
  evidence.policy = "answer " + asked.method;
  std::vector<Hit> hits;
  for (const std::string& id : asked.ids) hits.emplace_back().document = id;
  if (Status kept = record(services, request, asked.question.text.bytes(), evidence, hits, certificate); !kept)
    return failed(services, exchange, kept.error());
  out["certificate"] = certificate.empty() ? Json() : Json::parse(certificate);
  out["trace_id"] = request.trace_id;
  if (!sees_scores(services, request.caller)) hide_scores(out);
  if (withholds_passages(request.caller, services.engine.default_policy(request.caller.tenant))) {
    // The passages are the client's own, but what each group says of them is not for a reader of this server.
    Json hidden = out;
    hide_passages(hidden);
    hidden["answer"] = std::move(out["answer"]);
    out = std::move(hidden);
  }
  return json_response(out);
}

Response vanilla(const Services& services, Exchange& exchange, const AskedAnswer& asked) {
  VanillaOptions options;
  if (asked.max_new_tokens > 0) options.max_new_tokens = asked.max_new_tokens;
  const std::int64_t begin = unix_nanoseconds();
  const auto made =
      answer_vanilla(*services.engine.model(), asked.question.text, asked.passages, options, {}, exchange.stop());
  add_span(services, exchange.request(), asked, begin, !made.ok(), made ? made->prompt_tokens : 0,
           made ? made->generated_tokens : 0);
  if (!made) return failed(services, exchange, made.error());
  services.metrics.tokens(made->prompt_tokens, made->generated_tokens);
  services.metrics.answer(false, false);
  Json cited = Json::array();
  for (const std::size_t number : made->cited) cited.push_back(asked.ids[number - 1]);
  return finish(services, exchange, asked,
                {{"answer", made->text.for_json()},
                 {"method", "vanilla"},
                 {"passages_used", made->passages_used},
                 {"cited", std::move(cited)},
                 {"finish_reason", finish_reason_name(made->finish)}},
                "");
}

Json groups_json(const AskedAnswer& asked, const RobustOptions& options, const RobustAnswer& answer) {
  Json groups = Json::array();
  for (const GroupAnswer& group : answer.groups) {
    Json passages = Json::array();
    for (const std::size_t i : group.passages) passages.push_back(asked.ids[i]);
    Json entry = {{"passages", std::move(passages)},
                  {"abstains", group.abstains},
                  {"too_long", group.too_long},
                  {"stands_behind", stands_behind(answer, group)}};
    if (options.method == Aggregation::kDecoding) {
      entry["agreement"] = group.agreement;
    } else {
      entry["answer"] = group.text.for_json();
    }
    if (group.option) entry["vote"] = option_letter(*group.option);
    if (options.method == Aggregation::kKeyword) {
      entry["keywords"] = Json::array();
      for (const std::string& keyword : group.keywords) entry["keywords"].push_back(UntrustedText(keyword).for_json());
    }
    groups.push_back(std::move(entry));
  }
  return groups;
}

Response robust(const Services& services, Exchange& exchange, const AskedAnswer& asked, Aggregation method) {
  LanguageModel& model = *services.engine.model();
  RobustOptions options = robust_options(method, asked.question.task);
  options.group_size = asked.group_size;
  if (asked.max_new_tokens > 0) options.max_new_tokens = asked.max_new_tokens;
  options.keywords = keywords_by(services.engine.keywords());
  options.trace = asked.certify;
  options.tenant = exchange.request().caller.tenant;
  options.states = services.engine.states();
  const std::int64_t begin = unix_nanoseconds();
  const auto made = answer_robustly(model, asked.question, asked.passages, options, exchange.stop());
  add_span(services, exchange.request(), asked, begin, !made.ok(), made ? made->prompt_tokens : 0,
           made ? made->generated_tokens : 0);
  if (!made) return failed(services, exchange, made.error());
  services.metrics.tokens(made->prompt_tokens, made->generated_tokens);
  Json out = {{"answer", made->text.for_json()},
              {"method", aggregation_name(method)},
              {"from_passages", made->from_passages},
              {"groups", groups_json(asked, options, *made)},
              {"finish_reason", finish_reason_name(made->finish)}};
  std::string file;
  if (asked.certify) {
    auto certified = certify_answer(model, asked.question, asked.passages, options, *made, {}, exchange.stop());
    if (!certified) return failed(services, exchange, certified.error());
    out["certified"] = {{"k_prime", certified->k_prime}, {"limited_by", certified->limited_by}};
    if (certified->certificate) {
      out["certified"]["claim"] = claim_of(*certified->certificate);
      certified->certificate->created_at = Clock::system().unix_seconds();
      auto written = write_certificate(*std::move(certified->certificate), services.engine.key());
      if (!written) return failed(services, exchange, written.error());
      file = *std::move(written);
    }
  }
  services.metrics.answer(asked.certify, !file.empty());
  return finish(services, exchange, asked, std::move(out), file);
}

Response answer(const Services& services, Exchange& exchange) {
  const auto body = read_object(exchange.request());
  if (const auto* wrong = std::get_if<ApiError>(&body)) return error_response(*wrong);
  AskedAnswer asked;
  if (const auto wrong = read_asked(services.limits(), std::get<Json>(body), asked)) return error_response(*wrong);
  if (services.engine.model() == nullptr) return error_response(not_found("this server has no language model"));
  if (const auto wrong = check_question_tokens(services, asked.question.text.bytes(), "question"))
    return error_response(*wrong);
  if (asked.method == "vanilla") return vanilla(services, exchange, asked);
  const auto method = find_aggregation(asked.method);
  if (!method) {
    return error_response(ApiError{400, "invalid_request_error", "invalid_value",
                                   "method must be vanilla, voting, keyword or decoding", "method"});
  }
  return robust(services, exchange, asked, *method);
}

}  // namespace

void add_answer_routes(Router& router, const Services& services) {
  router.add({"POST", "/v1/answer", Access::kReader, Lane::kModel, services.limits().max_body_bytes,
              [&services](Exchange& exchange) { return answer(services, exchange); }});
}

}  // namespace casemate::server
