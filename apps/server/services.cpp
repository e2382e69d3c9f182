#include "services.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <regex>

#include "casemate/core/untrusted_text.h"

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

bool sees_scores(const Services& services, const Caller& caller) { return caller.role >= services.scores_for; }

void hide_scores(Json& value) {
  static constexpr std::array kHidden = {
      "score", "threshold", "measures", "dense", "bm25", "smallest_gap", "agreement", "abstention_probability", "gap"};
  // "cosine 0.981 to passage 7" says the score in words.
  static const std::regex decimal(R"([-+]?\d+\.\d+(e[-+]?\d+)?)");
  if (value.is_object()) {
    for (const char* name : kHidden) value.erase(name);
    for (auto& [name, item] : value.items()) {
      if (name == "reason" && item.is_string()) {
        item = std::regex_replace(item.get<std::string>(), decimal, "(hidden)");
      } else if (name == "notes" && item.is_array()) {
        for (Json& note : item) {
          if (note.is_string()) note = std::regex_replace(note.get<std::string>(), decimal, "(hidden)");
        }
      } else if (name != "parameters" && name != "text" && name != "certificate") {
        hide_scores(item);
      }
    }
  } else if (value.is_array()) {
    for (Json& item : value) hide_scores(item);
  }
}

void hide_folders(Json& value) {
  if (value.is_object()) {
    for (auto& [name, item] : value.items()) {
      if (name == "path" && item.is_string()) {
        item = std::filesystem::path(item.get<std::string>()).filename().string();
      } else if (name != "certificate" && name != "parameters") {
        hide_folders(item);
      }
    }
  } else if (value.is_array()) {
    for (Json& item : value) hide_folders(item);
  }
}

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

Response failed(const Services& services, const Exchange& exchange, const Error& error) {
  ApiError shown = api_error(error);
  if (const Store* store = services.engine.store(); store != nullptr) {
    const std::string& folder = store->path();
    for (std::size_t at = shown.message.find(folder); !folder.empty() && at != std::string::npos;
         at = shown.message.find(folder, at))
      shown.message.replace(at, folder.size(), "STORE");
  }
  if (shown.status >= 500 && error.code != ErrorCode::kCancelled) {
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
