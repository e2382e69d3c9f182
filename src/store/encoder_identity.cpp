#include "casemate/store/encoder_identity.h"

#include <nlohmann/json.hpp>

namespace casemate {
namespace {

// Stores made before there was a choice do not name it, so that it is written only where it is not the usual one.
constexpr const char* kPrecision = "precision";
constexpr const char* kUsualPrecision = "float32";

/// Every field as (name, text), in the order of the struct: the one list that comparing goes by.
std::vector<std::pair<std::string, std::string>> fields(const EncoderIdentity& id) {
  return {{"model", id.model},
          {"model_hash", id.model_hash},
          {"dimension", std::to_string(id.dimension)},
          {"pooling", id.pooling},
          {"normalised", id.normalised ? "true" : "false"},
          {"query_prefix", id.query_prefix},
          {"passage_prefix", id.passage_prefix},
          {"max_tokens", std::to_string(id.max_tokens)},
          {"chunker", id.chunker},
          {"chunker_parameters", id.chunker_parameters},
          {kPrecision, id.precision}};
}

}  // namespace

std::vector<IdentityDifference> differences(const EncoderIdentity& stored, const EncoderIdentity& offered) {
  const auto left = fields(stored);
  const auto right = fields(offered);
  std::vector<IdentityDifference> found;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i].second != right[i].second) found.push_back({left[i].first, left[i].second, right[i].second});
  }
  return found;
}

std::string describe(const std::vector<IdentityDifference>& found) {
  std::string text;
  for (const IdentityDifference& difference : found) {
    if (!text.empty()) text += "; ";
    text += difference.field + " is \"" + difference.stored + "\" in the store and \"" + difference.offered + "\" here";
  }
  return text;
}

std::string to_json(const EncoderIdentity& identity) {
  nlohmann::ordered_json json;
  for (const auto& [name, value] : fields(identity)) {
    if (name != kPrecision || value != kUsualPrecision) json[name] = value;
  }
  json["dimension"] = identity.dimension;
  json["normalised"] = identity.normalised;
  json["max_tokens"] = identity.max_tokens;
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<EncoderIdentity> encoder_identity_from_json(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return Error{ErrorCode::kInvalidInput, "the encoder identity is not a JSON object"};
  EncoderIdentity identity;
  std::string broken;
  const auto read = [&](const char* name, auto& to, bool type_ok) {
    if (!type_ok) {
      if (broken.empty()) broken = name;
      return;
    }
    to = json.at(name).get<std::remove_reference_t<decltype(to)>>();
  };
  const auto text_field = [&](const char* name, std::string& to) {
    read(name, to, json.contains(name) && json.at(name).is_string());
  };
  const auto int_field = [&](const char* name, int& to) {
    read(name, to, json.contains(name) && json.at(name).is_number_integer());
  };
  text_field("model", identity.model);
  text_field("model_hash", identity.model_hash);
  int_field("dimension", identity.dimension);
  text_field("pooling", identity.pooling);
  read("normalised", identity.normalised, json.contains("normalised") && json.at("normalised").is_boolean());
  text_field("query_prefix", identity.query_prefix);
  text_field("passage_prefix", identity.passage_prefix);
  int_field("max_tokens", identity.max_tokens);
  text_field("chunker", identity.chunker);
  text_field("chunker_parameters", identity.chunker_parameters);
  if (json.contains(kPrecision)) text_field(kPrecision, identity.precision);
  if (!broken.empty())
    return Error{ErrorCode::kInvalidInput,
                 "the encoder identity's field \"" + broken + "\" is missing or of another type"};
  return identity;
}

Digest identity_hash(const EncoderIdentity& identity) { return blake2b(to_json(identity)); }

}  // namespace casemate
