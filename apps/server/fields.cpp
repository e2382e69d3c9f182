#include "fields.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "casemate/core/nearest_name.h"
#include "casemate/core/untrusted_text.h"

namespace casemate::server {
namespace {

constexpr int kMaxDepth = 64;
/// Objects keep their fields in the order of the text and look them up one by one: no request needs more.
constexpr std::uint32_t kMaxFields = 1000;

enum class Shape : std::uint8_t { kGood, kTooDeep, kTooWide };

/// Whether `text` nests deeper or has larger objects than allowed, so that no parser or destructor ever sees such a
/// value.
Shape shape_of(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  std::array<std::uint32_t, kMaxDepth + 1> fields{};
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return Shape::kTooDeep;
      fields[static_cast<std::size_t>(depth)] = 0;
    }
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (c == ':' && ++fields[static_cast<std::size_t>(depth)] > kMaxFields) return Shape::kTooWide;
  }
  return Shape::kGood;
}

ApiError bad_json(std::string message) { return {400, "invalid_request_error", "invalid_json", std::move(message)}; }

std::string kind_of(const Json& value) {
  return value.is_number() ? "a number" : std::string("a ") + value.type_name();
}

}  // namespace

std::variant<Json, ApiError> read_json(std::string_view text) {
  const Shape shape = shape_of(text);
  if (shape == Shape::kTooDeep)
    return bad_json("the body nests more than " + std::to_string(kMaxDepth) + " values deep");
  if (shape == Shape::kTooWide)
    return bad_json("the body has an object with more than " + std::to_string(kMaxFields) + " fields");
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) {
    return bad_json("the body is not JSON in valid UTF-8 with numbers that a double can hold");
  }
  return value;
}

std::variant<Json, ApiError> read_object(const Request& request) {
  if (request.content_type != "application/json") {
    return ApiError{415, "invalid_request_error", "unsupported_media_type",
                    "send the body as JSON, with the header Content-Type: application/json"};
  }
  auto value = read_json(request.body);
  if (const Json* json = std::get_if<Json>(&value); json != nullptr && !json->is_object()) {
    return bad_json("the body must be a JSON object, not " + kind_of(*json));
  }
  return value;
}

Fields::Fields(const Json& object, std::string path) : object_(object), path_(std::move(path)) {}

void Fields::fail(std::string_view name, const std::string& what, bool limit) {
  if (error_) return;
  const std::string field = UntrustedText(path_ + std::string(name)).for_log(100);
  ApiError error{400, "invalid_request_error", limit ? "limit" : "invalid_value", field + " " + what};
  if (limit) error.status = 413;
  error.param = field;
  error_ = std::move(error);
}

const Json* Fields::take(std::string_view name) {
  known_.emplace_back(name);
  last_absent_ = true;
  if (error_) return nullptr;
  const auto found = object_.find(std::string(name));
  if (found == object_.end() || found->is_null()) return nullptr;
  last_absent_ = false;
  return &*found;
}

Fields& Fields::text(std::string_view name, std::string& out, std::size_t max_bytes) {
  const Json* value = take(name);
  if (value == nullptr) return *this;
  const auto* text = value->get_ptr<const std::string*>();
  if (text == nullptr) {
    fail(name, "must be a string, not " + kind_of(*value));
  } else if (text->size() > max_bytes) {
    fail(name, "has " + std::to_string(text->size()) + " bytes; at most " + std::to_string(max_bytes) + " are allowed",
         true);
  } else {
    out = *text;
  }
  return *this;
}

Fields& Fields::texts(std::string_view name, std::vector<std::string>& out, std::size_t max_count,
                      std::size_t max_bytes) {
  const Json* items = nullptr;
  list(name, items, max_count);
  if (items == nullptr) return *this;
  for (const Json& item : *items) {
    const auto* text = item.get_ptr<const std::string*>();
    if (text == nullptr) {
      fail(name, "must be a list of strings");
    } else if (text->size() > max_bytes) {
      fail(name, "holds a string of more than " + std::to_string(max_bytes) + " bytes", true);
    } else {
      out.push_back(*text);
    }
  }
  return *this;
}

Fields& Fields::boolean(std::string_view name, bool& out) {
  const Json* value = take(name);
  if (value == nullptr) return *this;
  if (!value->is_boolean()) {
    fail(name, "must be true or false, not " + kind_of(*value));
  } else {
    out = value->get<bool>();
  }
  return *this;
}

Fields& Fields::integer(std::string_view name, int& out, int low, int high) {
  const Json* value = take(name);
  if (value == nullptr) return *this;
  const std::string range = "must be a whole number in " + std::to_string(low) + " to " + std::to_string(high);
  if (!value->is_number_integer()) {
    fail(name, range);
    return *this;
  }
  const bool too_large =
      value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
  const std::int64_t number = too_large ? INT64_MAX : value->get<std::int64_t>();
  if (number < low || number > high) {
    fail(name, range);
  } else {
    out = static_cast<int>(number);
  }
  return *this;
}

Fields& Fields::number(std::string_view name, double& out) {
  const Json* value = take(name);
  if (value == nullptr) return *this;
  if (!value->is_number() || !std::isfinite(value->get<double>())) {
    fail(name, "must be a number");
  } else {
    out = value->get<double>();
  }
  return *this;
}

Fields& Fields::numbers(std::string_view name, std::vector<float>& out, std::size_t max_count) {
  const Json* items = nullptr;
  list(name, items, max_count);
  if (items == nullptr) return *this;
  out.reserve(items->size());
  for (const Json& item : *items) {
    const auto number = item.is_number() ? static_cast<float>(item.get<double>()) : INFINITY;
    if (!std::isfinite(number)) {
      fail(name, "must be a list of numbers that a float can hold");
      return *this;
    }
    out.push_back(number);
  }
  return *this;
}

Fields& Fields::object(std::string_view name, const Json*& out) {
  const Json* value = take(name);
  if (value == nullptr) return *this;
  if (!value->is_object()) {
    fail(name, "must be an object, not " + kind_of(*value));
  } else {
    out = value;
  }
  return *this;
}

Fields& Fields::list(std::string_view name, const Json*& out, std::size_t max_count) {
  const Json* value = take(name);
  if (value == nullptr) return *this;
  if (!value->is_array()) {
    fail(name, "must be a list, not " + kind_of(*value));
  } else if (value->size() > max_count) {
    fail(name,
         "has " + std::to_string(value->size()) + " entries; at most " + std::to_string(max_count) + " are allowed",
         true);
  } else {
    out = value;
  }
  return *this;
}

Fields& Fields::required() {
  if (last_absent_ && !error_) fail(known_.back(), "is missing");
  return *this;
}

Fields& Fields::wrong(std::string_view name, std::string_view what) {
  fail(name, std::string(what));
  return *this;
}

std::optional<ApiError> Fields::finish() const {
  if (error_) return error_;
  for (const auto& item : object_.items()) {
    if (std::find(known_.begin(), known_.end(), item.key()) != known_.end()) continue;
    const std::string field = UntrustedText(path_ + item.key()).for_log(100);
    return ApiError{400, "invalid_request_error", "unknown_field",
                    "there is no field \"" + field + "\"" + name_hint(item.key(), known_), field};
  }
  return std::nullopt;
}

}  // namespace casemate::server
