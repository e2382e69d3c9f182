#include "certify/verify/json_fields.h"

#include <algorithm>
#include <utility>

#include "casemate/core/hash.h"
#include "casemate/core/untrusted_text.h"

namespace casemate::verify {
namespace {

constexpr int kMaxDepth = 16;

/// Deep nesting would be a deep recursion later.
void check_depth(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > kMaxDepth) {
      throw Malformed{"JSON nested deeper than " + std::to_string(kMaxDepth) + " levels; no certificate is"};
    }
  }
}

}  // namespace

Json parse_canonical(std::string_view text) {
  check_depth(text);
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) throw Malformed{"this is not JSON"};
  // One comparison refuses keys that stand twice or in another order, white space, other escapes and other numbers.
  if (json.dump() != text) {
    throw Malformed{
        "the JSON is not in canonical form (sorted keys, each once, no white space, shortest numbers and escapes)"};
  }
  return json;
}

Fields::Fields(const Json& json, std::string where, std::initializer_list<std::string_view> keys)
    : json_(json), where_(std::move(where)) {
  if (!json.is_object()) throw Malformed{where_ + ": expected an object"};
  for (const std::string_view key : keys) {
    if (!json.contains(key)) throw Malformed{path(key) + " is missing"};
  }
  for (const auto& [key, value] : json.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      throw Malformed{where_ + ": unknown field " + UntrustedText(key).for_log(60)};
    }
  }
}

const Json& Fields::at(std::string_view key) const { return *json_.find(key); }

std::int64_t Fields::integer(std::string_view key, std::int64_t low, std::int64_t high) const {
  return integer_of(at(key), path(key), low, high);
}

bool Fields::flag(std::string_view key) const {
  if (!at(key).is_boolean()) throw Malformed{path(key) + ": expected true or false"};
  return at(key).get<bool>();
}

std::string Fields::text(std::string_view key) const { return text_of(at(key), path(key)); }

const Json& Fields::array(std::string_view key, std::size_t least, std::size_t most) const {
  return array_of(at(key), path(key), least, most);
}

std::int64_t integer_of(const Json& json, const std::string& where, std::int64_t low, std::int64_t high) {
  const bool fits = json.is_number_integer() &&
                    (!json.is_number_unsigned() || json.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX));
  if (fits) {
    const auto value = json.get<std::int64_t>();
    if (value >= low && value <= high) return value;
  }
  throw Malformed{where + ": expected an integer in [" + std::to_string(low) + ", " + std::to_string(high) + "]"};
}

std::string text_of(const Json& json, const std::string& where) {
  if (!json.is_string()) throw Malformed{where + ": expected a string"};
  return json.get<std::string>();
}

std::string bytes_of(const Json& json, const std::string& where, std::size_t count) {
  const std::string hex = text_of(json, where);
  const bool plain = hex.size() == 2 * count && hex.find_first_not_of("0123456789abcdef") == std::string::npos;
  auto bytes = from_hex(hex);
  if (!plain || !bytes) {
    throw Malformed{where + ": expected " + std::to_string(2 * count) + " lower-case hexadecimal digits"};
  }
  return *std::move(bytes);
}

const Json& array_of(const Json& json, const std::string& where, std::size_t least, std::size_t most) {
  if (json.is_array() && json.size() >= least && json.size() <= most) return json;
  throw Malformed{where + ": expected a list of " + std::to_string(least) + " to " + std::to_string(most) +
                  " elements"};
}

}  // namespace casemate::verify
