#include "services.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <regex>

#include "casemate/core/untrusted_text.h"
#include "disclosure.h"

namespace casemate::server {

void add_all_routes(Router& router, const Services& services) {
  add_health_routes(router, services);
  add_docs_routes(router);
  add_retrieve_routes(router, services);
  add_chat_routes(router, services);
  add_model_routes(router, services);
  add_answer_routes(router, services);
  add_screen_routes(router, services);
  add_verify_routes(router, services);
  add_document_routes(router, services);
  add_policy_routes(router, services);
}

bool sees_scores(const Services& services, const Caller& caller) {
  return caller.role >= services.live.get().scores_for;
}

namespace {

/// "cosine 0.981 to passage 7" says the score in words.
std::string without_figures(const std::string& text) {
  static const std::regex decimal(R"([-+]?\d+\.\d+(e[-+]?\d+)?)");
  return std::regex_replace(text, decimal, "(hidden)");
}

}  // namespace

void hide_scores(Json& value) {
  static constexpr std::array kHidden = {
      "score", "threshold", "measures", "dense", "bm25", "smallest_gap", "agreement", "abstention_probability", "gap"};
  if (value.is_object()) {
    for (const char* name : kHidden) value.erase(name);
    for (auto& [name, item] : value.items()) {
      if (name == "reason" && item.is_string()) {
        item = without_figures(item.get<std::string>());
      } else if (name == "notes" && item.is_array()) {
        for (Json& note : item) {
          if (note.is_string()) note = without_figures(note.get<std::string>());
        }
      } else if (name != "parameters" && name != "text" && name != "certificate") {
        hide_scores(item);
      }
    }
  } else if (value.is_array()) {
    for (Json& item : value) hide_scores(item);
  }
}

namespace {

/// `text` with STORE for each `folder` in it.
std::string without_folder(std::string text, const std::string& folder) {
  if (folder.empty()) return text;
  constexpr std::string_view kInstead = "STORE";
  for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at + kInstead.size()))
    text.replace(at, folder.size(), kInstead);
  return text;
}

std::string store_folder(const Services& services) {
  const Store* store = services.engine.store();
  return store == nullptr ? std::string() : store->path();
}

/// In all strings, however deep.
void hide_in_strings(const std::string& folder, Json& value) {
  if (value.is_string()) value = without_folder(value.get<std::string>(), folder);
  if (!value.is_structured()) return;
  for (Json& item : value) hide_in_strings(folder, item);
}

void hide_in_fields(const std::string& folder, Json& value) {
  if (value.is_object()) {
    for (auto& [name, item] : value.items()) {
      if (name == "path" && item.is_string()) {
        item = std::filesystem::path(item.get<std::string>()).filename().string();
      } else if (name != "certificate" && name != "parameters") {
        hide_in_fields(folder, item);
      }
      if (name == "evidence") hide_in_strings(folder, item);
    }
  } else if (value.is_array()) {
    for (Json& item : value) hide_in_fields(folder, item);
  }
}

}  // namespace

void hide_folders(const Services& services, Json& value) { hide_in_fields(store_folder(services), value); }

void read_filter(Fields& fields, std::string_view name, const Caller& caller, DocumentFilter& out) {
  const Json* given = nullptr;
  fields.object(name, given);
  std::vector<std::string> any_of;
  if (given != nullptr) {
    Fields filter(*given, std::string(name) + ".");
    filter.texts("any_of", any_of, 1000, 256)
        .texts("all_of", out.all_of, 1000, 256)
        .texts("none_of", out.none_of, 1000, 256);
    if (const auto wrong = filter.finish()) {
      fields.wrong(name, "is wrong: " + wrong->message);
      return;
    }
    if (given->contains("any_of") && !(*given)["any_of"].is_null()) out.any_of = any_of;
  }
  if (caller.labels.empty()) return;
  if (!out.any_of) {
    out.any_of = caller.labels;
    return;
  }
  std::erase_if(*out.any_of, [&](const std::string& label) {
    return std::find(caller.labels.begin(), caller.labels.end(), label) == caller.labels.end();
  });
}

std::optional<ApiError> check_question_tokens(const Services& services, std::string_view question,
                                              std::string_view field) {
  const std::size_t most = services.limits().max_question_tokens;
  // A token has at least a byte.
  if (most == 0 || question.size() <= most) return std::nullopt;
  std::size_t count = 0;
  if (const LanguageModel* model = services.engine.model();
      model != nullptr && model->capabilities().has(Feature::kTokens)) {
    const auto tokens = model->tokenize(question, SpecialTokens::kAsText);
    if (tokens) count = tokens->ids.size();
  } else if (const Encoder* encoder = services.engine.encoder(); encoder != nullptr) {
    count = encoder->tokenizer().tokenize(question, SpecialTokens::kAsText).ids.size();
  }
  if (count <= most) return std::nullopt;
  ApiError error = too_large(std::string(field) + " has " + std::to_string(count) + " tokens; at most " +
                             std::to_string(most) + " are allowed");
  error.param = std::string(field);
  return error;
}

Response failed(const Services& services, const Exchange& exchange, const Error& error) {
  ApiError shown = api_error(error);
  shown.message = without_folder(std::move(shown.message), store_folder(services));
  const Caller& caller = exchange.request().caller;
  if (!sees_scores(services, caller)) shown.message = without_figures(shown.message);
  const bool hidden = shown.status < 500 && withholds_passages(caller, services.engine.default_policy(caller.tenant));
  if (hidden) shown.message = "this cannot be answered as it was asked; the server's log says why, under the trace id";
  if ((shown.status >= 500 || hidden) && error.code != ErrorCode::kCancelled) {
    services.log.write(LogLevel::kError, "request_failed",
                       {{"trace_id", exchange.request().trace_id},
                        {"code", error_code_name(error.code)},
                        {"what", UntrustedText(error.message).for_log(500)}});
  }
  return error_response(shown);
}

Response json_response(const Json& body, unsigned status) {
  Response response;
  response.status = status;
  response.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  return response;
}

}  // namespace casemate::server
