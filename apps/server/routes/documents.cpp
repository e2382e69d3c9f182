// /v1/documents and /v1/jobs.
#include "../disclosure.h"
#include "../ingestor.h"
#include "../services.h"
#include "casemate/core/clock.h"

namespace casemate::server {
namespace {

constexpr std::string_view kNdjson = "application/x-ndjson";
constexpr std::size_t kMaxIdBytes = 2048;

Json job_json(const Job& job) {
  Json out = {{"id", job.id},
              {"object", "job"},
              {"state", job_state_name(job.state)},
              {"documents", job.documents},
              {"read", job.read},
              {"result", nullptr},
              {"error", nullptr}};
  if (job.summary) {
    const IndexSummary& summary = *job.summary;
    out["result"] = {{"added", summary.added},      {"unchanged", summary.unchanged}, {"replaced", summary.replaced},
                     {"refused", summary.refused},  {"passages", summary.chunks},     {"findings", summary.findings},
                     {"problems", summary.problems}};
  }
  if (job.error) out["error"] = Json::parse(error_json(api_error(*job.error)))["error"];
  return out;
}

/// One document of an upload; `where` stands before the names of its fields.
std::optional<ApiError> read_document(const Json& value, const std::string& where, const Limits& limits,
                                      std::vector<SuppliedDocument>& out) {
  if (!value.is_object())
    return ApiError{400, "invalid_request_error", "invalid_value", where + " must be an object {id, text}", where};
  std::string title;
  std::string text;
  const Json* metadata = nullptr;
  SuppliedDocument document;
  Fields fields(value, where + ".");
  fields.text("id", document.id, kMaxIdBytes).required();
  fields.text("text", text, limits.max_body_bytes).required();
  fields.text("title", title, 4096).object("metadata", metadata);
  if (document.id.empty()) fields.wrong("id", "must not be empty");
  if (auto wrong = fields.finish()) return wrong;
  if (metadata != nullptr) {
    for (const auto& [name, item] : metadata->items())
      document.metadata[name] = item.is_string() ? item.get<std::string>() : item.dump();
  }
  document.title = UntrustedText(std::move(title));
  document.text = UntrustedText(std::move(text));
  out.push_back(std::move(document));
  return std::nullopt;
}

struct Uploaded {
  std::vector<SuppliedDocument> documents;
  std::vector<std::string> labels;
};

std::variant<Uploaded, ApiError> read_lines(const Request& request, const Limits& limits) {
  Uploaded out;
  if (const auto labels = query_value(request.query, "labels")) {
    for (std::size_t begin = 0; begin <= labels->size();) {
      const std::size_t end = std::min(labels->find(',', begin), labels->size());
      if (end > begin) out.labels.push_back(labels->substr(begin, end - begin));
      begin = end + 1;
    }
  }
  std::string_view rest = request.body;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string where = "line " + std::to_string(number);
    auto value = read_json(line);
    if (auto* wrong = std::get_if<ApiError>(&value)) {
      wrong->message = where + ": " + wrong->message;
      return std::move(*wrong);
    }
    if (out.documents.size() >= limits.max_documents)
      return too_large("an upload may hold at most " + std::to_string(limits.max_documents) + " documents");
    if (auto wrong = read_document(std::get<Json>(value), where, limits, out.documents)) return *std::move(wrong);
  }
  return out;
}

std::variant<Uploaded, ApiError> read_upload(const Request& request, const Limits& limits) {
  if (request.content_type == kNdjson) return read_lines(request, limits);
  auto body = read_object(request);
  if (auto* wrong = std::get_if<ApiError>(&body)) return std::move(*wrong);
  Uploaded out;
  const Json* documents = nullptr;
  Fields fields(std::get<Json>(body));
  fields.list("documents", documents, limits.max_documents).required();
  fields.texts("labels", out.labels, 64, 256);
  if (auto wrong = fields.finish()) return *std::move(wrong);
  for (std::size_t i = 0; i < documents->size(); ++i) {
    if (auto wrong = read_document((*documents)[i], "documents[" + std::to_string(i) + "]", limits, out.documents))
      return *std::move(wrong);
  }
  return out;
}

/// Documents get labels that their key has, so that who writes also sees.
std::variant<std::set<std::string>, ApiError> labels_for(const Caller& caller, const std::vector<std::string>& asked) {
  std::set<std::string> out(asked.begin(), asked.end());
  if (caller.labels.empty()) return out;
  if (out.empty()) return std::set<std::string>(caller.labels.begin(), caller.labels.end());
  for (const std::string& label : out) {
    if (!may_see(caller, {label}))
      return ApiError{403, "authentication_error", "forbidden", "this key may not use that label", "labels"};
  }
  return out;
}

Response add(const Services& services, Exchange& exchange) {
  const Request& request = exchange.request();
  auto upload = read_upload(request, services.limits());
  if (const auto* wrong = std::get_if<ApiError>(&upload)) return error_response(*wrong);
  Uploaded& given = std::get<Uploaded>(upload);
  if (given.documents.empty())
    return error_response(
        ApiError{400, "invalid_request_error", "invalid_value", "there is no document in it", "documents"});
  const auto labels = labels_for(request.caller, given.labels);
  if (const auto* wrong = std::get_if<ApiError>(&labels)) return error_response(*wrong);
  const auto job =
      services.ingestor->add(request.caller, std::move(given.documents), std::get<std::set<std::string>>(labels));
  if (!job) return error_response(overloaded("too many uploads wait; try again later"));
  return json_response(job_json(*job), 202);
}

/// `withholds`: the caller is not to learn what is in it; a hash would tell a guess right.
Json document_json(const StoredDocument& document, bool withholds) {
  Json out = {{"id", UntrustedText(document.id).for_json()},
              {"object", "document"},
              {"title", document.title.for_json()},
              {"format", document.format},
              {"labels", document.labels},
              {"trusted", document.trusted},
              {"passages", document.chunk_count},
              {"ingested_at", format_utc(document.ingested_at)},
              {"content_hash", to_hex(document.content_hash)}};
  if (withholds) out["title"] = out["content_hash"] = nullptr;
  return out;
}

bool withholds(const Services& services, const Caller& caller) {
  return withholds_passages(caller, services.engine.default_policy(caller.tenant));
}

Response list(const Services& services, Exchange& exchange) {
  const Request& request = exchange.request();
  int limit = 100;
  if (const auto text = query_value(request.query, "limit")) {
    const Json value = Json::parse(*text, nullptr, false);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < 1 || value.get<std::uint64_t>() > 1000)
      return error_response(
          ApiError{400, "invalid_request_error", "invalid_value", "limit must be in 1 to 1000", "limit"});
    limit = value.get<int>();
  }
  const bool hidden = withholds(services, request.caller);
  std::string after = query_value(request.query, "after").value_or("");
  Json data = Json::array();
  bool more = true;
  // Pages of the store until there are enough that the caller may see.
  while (more && data.size() <= static_cast<std::size_t>(limit) && !exchange.stop().stop_requested()) {
    const auto page = services.engine.store()->documents(request.caller.tenant, after, limit + 1);
    if (!page) return failed(services, exchange, page.error());
    more = page->size() == static_cast<std::size_t>(limit) + 1;
    for (const StoredDocument& document : *page) {
      after = document.id;
      if (may_see(request.caller, document.labels)) data.push_back(document_json(document, hidden));
    }
  }
  const bool has_more = data.size() > static_cast<std::size_t>(limit);
  while (data.size() > static_cast<std::size_t>(limit)) data.erase(data.size() - 1);
  return json_response({{"object", "list"}, {"data", std::move(data)}, {"has_more", has_more}});
}

Response show(const Services& services, Exchange& exchange) {
  const Request& request = exchange.request();
  const auto document = services.engine.store()->document(request.caller.tenant, request.argument);
  if (!document && document.error().code != ErrorCode::kNotFound) return failed(services, exchange, document.error());
  if (!document || !may_see(request.caller, document->labels))
    return error_response(not_found("there is no document with that id"));
  return json_response(document_json(*document, withholds(services, request.caller)));
}

Response remove(const Services& services, Exchange& exchange) {
  const Request& request = exchange.request();
  const auto removed = services.ingestor->remove(request.caller, request.argument);
  if (!removed) return failed(services, exchange, removed.error());
  if (!*removed) return error_response(not_found("there is no document with that id"));
  return json_response({{"id", request.argument}, {"object", "document.deleted"}, {"deleted", true}});
}

}  // namespace

void add_document_routes(Router& router, const Services& services) {
  if (services.ingestor == nullptr) return;
  const auto route = [&](std::string method, std::string path, Access access, std::uint64_t max_body, auto handle) {
    router.add({std::move(method), std::move(path), access, Lane::kQuery, max_body,
                [&services, handle](Exchange& exchange) { return handle(services, exchange); }});
  };
  route("POST", "/v1/documents", Access::kWriter, services.limits().max_upload_bytes, add);
  route("GET", "/v1/documents", Access::kReader, 0, list);
  route("GET", "/v1/documents/{id}", Access::kReader, 0, show);
  route("DELETE", "/v1/documents/{id}", Access::kWriter, 0, remove);
  route("GET", "/v1/jobs", Access::kWriter, 0, [](const Services& all, Exchange& exchange) {
    Json data = Json::array();
    for (const Job& job : all.ingestor->jobs(exchange.request().caller)) data.push_back(job_json(job));
    return json_response({{"object", "list"}, {"data", std::move(data)}});
  });
  route("GET", "/v1/jobs/{id}", Access::kWriter, 0, [](const Services& all, Exchange& exchange) {
    const auto job = all.ingestor->job(exchange.request().caller, exchange.request().argument);
    return job ? json_response(job_json(*job)) : error_response(not_found("there is no job with that id"));
  });
}

}  // namespace casemate::server
