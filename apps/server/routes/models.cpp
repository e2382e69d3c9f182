// GET /v1/models and POST /v1/embeddings in OpenAI's shape.
#include <sodium.h>

#include <algorithm>

#include "../services.h"
#include "../spans.h"

namespace casemate::server {
namespace {

/// Between these it is looked whether the client is still there; vectors do not depend on who is beside.
constexpr std::size_t kTextsTogether = 16;

Json model_json(const std::string& id) {
  return {{"id", id}, {"object", "model"}, {"created", 0}, {"owned_by", "casemate"}};
}

Json models(const Services& services) {
  Json data = Json::array();
  if (services.engine.model() != nullptr && services.engine.store() != nullptr) {
    data.push_back(model_json("casemate"));
    for (const Policy& policy : services.engine.policies()) data.push_back(model_json("casemate:" + policy.name));
  }
  if (services.engine.encoder() != nullptr) data.push_back(model_json(services.engine.encoder()->info().model));
  return {{"object", "list"}, {"data", std::move(data)}};
}

/// OpenAI's clients ask for base64 of little-endian floats by themselves.
std::string base64(std::span<const float> row) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(row.data());
  const std::size_t count = row.size() * sizeof(float);
  std::string out(sodium_base64_encoded_len(count, sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(out.data(), out.size(), bytes, count, sodium_base64_VARIANT_ORIGINAL);
  out.pop_back();  // its terminating zero
  return out;
}

/// `input`: a string or a list of strings.
std::optional<ApiError> read_input(const Json& body, const Limits& limits, std::vector<std::string>& out) {
  Fields fields(body);
  const auto found = body.find("input");
  if (found != body.end() && found->is_string()) {
    out.emplace_back();
    fields.text("input", out.back(), limits.max_passage_bytes);
  } else {
    fields.texts("input", out, limits.max_inputs, limits.max_passage_bytes).required();
  }
  if (auto wrong = fields.finish_ignoring_unknown()) return wrong;
  if (out.empty()) fields.wrong("input", "must hold at least one text");
  for (const std::string& text : out) {
    if (text.empty()) fields.wrong("input", "must not hold an empty text");
  }
  return fields.finish_ignoring_unknown();
}

Response embeddings(const Services& services, Exchange& exchange) {
  const auto body = read_object(exchange.request());
  if (const auto* wrong = std::get_if<ApiError>(&body)) return error_response(*wrong);
  const Json& json = std::get<Json>(body);
  std::string model;
  std::string format = "float";
  std::string kind;
  Fields fields(json);
  fields.text("model", model, 256).required();
  fields.text("encoding_format", format, 32).text("input_type", kind, 32);
  if (format != "float" && format != "base64") fields.wrong("encoding_format", "must be float or base64");
  if (!kind.empty() && kind != "query" && kind != "passage") fields.wrong("input_type", "must be query or passage");
  if (json.contains("dimensions") && !json["dimensions"].is_null())
    fields.wrong("dimensions", "is not supported: vectors have the encoder's dimension");
  if (const auto wrong = fields.finish_ignoring_unknown()) return error_response(*wrong);
  const Encoder* encoder = services.engine.encoder();
  if (encoder == nullptr || model != encoder->info().model) {
    return error_response(ApiError{404, "invalid_request_error", "model_not_found",
                                   "there is no encoder of that name; GET /v1/models lists them", "model"});
  }
  std::vector<std::string> inputs;
  if (const auto wrong = read_input(json, services.limits(), inputs)) return error_response(*wrong);
  const std::vector<std::string_view> texts(inputs.begin(), inputs.end());
  const TextRole role = kind == "query" ? TextRole::kQuery : kind == "passage" ? TextRole::kPassage : TextRole::kPlain;
  const std::int64_t begin = unix_nanoseconds();
  Json data = Json::array();
  std::size_t tokens = 0;
  for (std::size_t first = 0; first < texts.size(); first += kTextsTogether) {
    if (exchange.stop().stop_requested())
      return failed(services, exchange, Error{ErrorCode::kCancelled, "nobody waits for the vectors any more"});
    const auto some = std::span(texts).subspan(first, std::min(kTextsTogether, texts.size() - first));
    const auto encoded = encoder->encode(some, {role, SpecialTokens::kAsText});
    if (!encoded) return failed(services, exchange, encoded.error());
    for (std::size_t i = 0; i < encoded->embeddings.rows; ++i) {
      const auto row = encoded->embeddings.row(i);
      Json entry = {{"object", "embedding"}, {"index", first + i}};
      entry["embedding"] = format == "base64" ? Json(base64(row)) : Json(std::vector<float>(row.begin(), row.end()));
      data.push_back(std::move(entry));
      tokens += encoded->inputs[i].input_ids.size();
    }
  }
  add_child_span(services.spans, exchange.request(), "embeddings " + model, begin, false,
                 {{"gen_ai.operation.name", "embeddings"},
                  {"gen_ai.provider.name", "casemate"},
                  {"gen_ai.request.model", model},
                  {"gen_ai.usage.input_tokens", static_cast<std::int64_t>(tokens)}});
  return json_response({{"object", "list"},
                        {"data", std::move(data)},
                        {"model", model},
                        {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}});
}

}  // namespace

void add_model_routes(Router& router, const Services& services) {
  router.add({"GET", "/v1/models", Access::kReader, Lane::kNow, 0,
              [&services](Exchange&) { return json_response(models(services)); }});
  router.add({"POST", "/v1/embeddings", Access::kReader, Lane::kQuery, services.limits().max_body_bytes,
              [&services](Exchange& exchange) { return embeddings(services, exchange); }});
}

}  // namespace casemate::server
