#include <algorithm>
#include <nlohmann/json.hpp>

#include "attack/request_template.h"
#include "casemate/attack/rag_endpoint.h"

namespace casemate {
namespace {

struct Places {
  std::vector<std::string> allowed;
  std::string needed;  ///< empty: none
};

bool is_header_name(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

/// `text` with each ${NAME} replaced.
Result<std::string> with_variables(const YamlValue& value, const std::string& text, const FindVariable& variable,
                                   EndpointAdapter& out) {
  std::string filled;
  std::size_t at = 0;
  for (std::size_t open = text.find("${"); open != std::string::npos; open = text.find("${", at)) {
    const std::size_t close = text.find('}', open);
    if (close == std::string::npos) break;
    const std::string name = text.substr(open + 2, close - open - 2);
    const auto found = variable(name);
    if (!found || found->empty()) {
      return value.error(ErrorCode::kInvalidOption,
                         "the environment variable " + UntrustedText(name).for_log() + " is not set");
    }
    out.secrets.emplace_back(name, *found);
    filled += text.substr(at, open - at) + *found;
    at = close + 1;
  }
  filled += text.substr(at);
  const bool plain = std::all_of(filled.begin(), filled.end(), [](char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  });
  // A line end would begin a header of its own. The value is a secret, so it is not shown.
  if (!plain) return value.error(ErrorCode::kInvalidOption, "holds control characters");
  return filled;
}

Status read_headers(const std::optional<YamlValue>& map, const FindVariable& variable, EndpointAdapter& out) {
  if (!map) return {};
  if (!map->is_map()) return map->error(ErrorCode::kInvalidInput, "must be a map of header and value");
  for (const std::string& name : map->keys()) {
    const YamlValue value = *map->find(name);
    if (!is_header_name(name)) return value.error(ErrorCode::kInvalidOption, "is no name of a header");
    const auto text = value.text();
    if (!text) return text.error();
    auto filled = with_variables(value, *text, variable, out);
    if (!filled) return filled.error();
    out.headers.emplace_back(name, *std::move(filled));
  }
  return {};
}

Status check_places(const YamlValue& value, const EndpointRequest& request, const Places& places) {
  // Only texts are filled in, so a place in a key would be sent as it stands.
  if (const auto names = names_in_keys(request.body); !names.empty())
    return value.error(ErrorCode::kInvalidOption,
                       "{{" + UntrustedText(names[0]).for_log() + "}} cannot stand in a key");
  bool has_needed = places.needed.empty();
  for (const std::string& part : {request.path, request.body}) {
    for (const std::string& name : template_names(part)) {
      has_needed = has_needed || name == places.needed;
      if (std::find(places.allowed.begin(), places.allowed.end(), name) != places.allowed.end()) continue;
      std::string known;
      for (const std::string& each : places.allowed) known += (known.empty() ? "{{" : ", {{") + each + "}}";
      return value.error(ErrorCode::kInvalidOption, "{{" + UntrustedText(name).for_log() + "}} cannot stand here; " +
                                                        (known.empty() ? "nothing is filled in" : known + " can"));
    }
  }
  if (!has_needed) return value.error(ErrorCode::kInvalidOption, "uses {{" + places.needed + "}} nowhere");
  return {};
}

/// Names the fields of a request on `options`; `check_request` looks at them after `finish`.
void name_request(YamlOptions& options, EndpointRequest& out) {
  options.read("method", out.method).read("path", out.path).required().read("body", out.body);
}

Status check_request(const YamlValue& value, const EndpointRequest& request, const Places& places) {
  constexpr std::string_view kMethods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
  if (std::find(std::begin(kMethods), std::end(kMethods), request.method) == std::end(kMethods))
    return value.error(ErrorCode::kInvalidOption, "method must be one of GET, POST, PUT, PATCH, DELETE");
  const bool plain = std::all_of(request.path.begin(), request.path.end(), [](char c) { return c > ' ' && c < 0x7F; });
  if (!request.path.starts_with('/') || !plain)
    return value.error(ErrorCode::kInvalidOption, "path must begin with / and hold no blanks and nothing beyond ASCII");
  if (!request.body.empty() && !nlohmann::json::accept(request.body))
    return value.error(ErrorCode::kInvalidInput, "body is no JSON (texts with places need quotes: \"{{text}}\")");
  return check_places(value, request, places);
}

Status check_pointer(const YamlValue& value, const std::string& pointer, const char* field) {
  if (is_json_path(pointer)) return {};
  return value.error(ErrorCode::kInvalidOption,
                     std::string(field) + " must be a JSON pointer such as /choices/0/text or /hits/*/id");
}

Status read_add(const YamlValue& value, EndpointAdapter& out) {
  YamlOptions options(value);
  name_request(options, out.add);
  options.read("id", out.add_id).read("job", out.add_job).read("settle_ms", out.settle_ms, 0, 600'000);
  if (Status read = options.finish(); !read) return read;
  for (const auto& [pointer, field] : {std::pair(&out.add_id, "id"), std::pair(&out.add_job, "job")}) {
    if (Status checked = check_pointer(value, *pointer, field); !checked) return checked;
  }
  return check_request(value, out.add, {{"id", "title", "text"}, "text"});
}

Status read_job(const YamlValue& value, EndpointAdapter& out) {
  EndpointRequest& request = out.job.emplace();
  request.method = "GET";
  YamlOptions options(value);
  name_request(options, request);
  options.read("state", out.job_state).required().read("done", out.job_done).read("failed", out.job_failed);
  if (Status read = options.finish(); !read) return read;
  if (Status checked = check_pointer(value, out.job_state, "state"); !checked) return checked;
  return check_request(value, request, {{"job"}, "job"});
}

Status read_plain(const YamlValue& value, const char* method, const Places& places,
                  std::optional<EndpointRequest>& out) {
  EndpointRequest& request = out.emplace();
  request.method = method;
  YamlOptions options(value);
  name_request(options, request);
  if (Status read = options.finish(); !read) return read;
  return check_request(value, request, places);
}

Status read_ask(const YamlValue& value, EndpointAdapter& out) {
  YamlOptions options(value);
  name_request(options, out.ask);
  options.read("answer", out.answer)
      .required()
      .read("finish", out.finish)
      .read("cut_short", out.cut_short)
      .read("sources", out.sources);
  if (Status read = options.finish(); !read) return read;
  for (const auto& [pointer, field] :
       {std::pair(&out.answer, "answer"), std::pair(&out.finish, "finish"), std::pair(&out.sources, "sources")}) {
    if (Status checked = check_pointer(value, *pointer, field); !checked) return checked;
  }
  return check_request(value, out.ask, {{"question"}, "question"});
}

Status read_retrieve(const YamlValue& value, EndpointAdapter& out) {
  EndpointRequest& request = out.retrieve.emplace();
  YamlOptions options(value);
  name_request(options, request);
  options.read("ids", out.retrieved).required();
  if (Status read = options.finish(); !read) return read;
  if (Status checked = check_pointer(value, out.retrieved, "ids"); !checked) return checked;
  return check_request(value, request, {{"question"}, "question"});
}

}  // namespace

Result<EndpointAdapter> read_endpoint_adapter(const YamlValue& root, const FindVariable& variable) {
  EndpointAdapter out;
  std::optional<YamlValue> headers;
  std::optional<YamlValue> add;
  std::optional<YamlValue> job;
  std::optional<YamlValue> remove;
  std::optional<YamlValue> reset;
  std::optional<YamlValue> ask;
  std::optional<YamlValue> retrieve;
  YamlOptions options(root);
  options.read("name", out.name)
      .read("headers", headers)
      .read("add", add)
      .required()
      .read("job", job)
      .read("delete", remove)
      .read("reset", reset)
      .read("ask", ask)
      .required()
      .read("retrieve", retrieve)
      .read("timeout_ms", out.timeout_ms, 100, 3'600'000)
      .read("max_reply_bytes", out.max_reply_bytes, UINT64_C(1024), UINT64_C(1) << 30U)
      .read("max_retries", out.max_retries, 0, 20)
      .read("retry_limit_ms", out.retry_limit_ms, 0, 3'600'000)
      .read("ca_file", out.ca_file);
  if (Status read = options.finish(); !read) return read.error();
  if (Status read = read_headers(headers, variable, out); !read) return read.error();
  if (Status read = read_add(*add, out); !read) return read.error();
  if (Status read = read_ask(*ask, out); !read) return read.error();
  if (job) {
    if (Status read = read_job(*job, out); !read) return read.error();
  }
  if (job.has_value() == out.add_job.empty())
    return root.error(ErrorCode::kInvalidOption, "add.job and job belong together: one is given without the other");
  if (remove) {
    if (Status read = read_plain(*remove, "DELETE", {{"id"}, "id"}, out.remove); !read) return read.error();
  }
  if (reset) {
    if (Status read = read_plain(*reset, "POST", {}, out.reset); !read) return read.error();
  }
  if (!remove && !reset) {
    return root.error(ErrorCode::kInvalidOption,
                      "give delete (one document) or reset (all that was added): what is planted must go again");
  }
  if (retrieve) {
    if (Status read = read_retrieve(*retrieve, out); !read) return read.error();
  }
  return out;
}

}  // namespace casemate
