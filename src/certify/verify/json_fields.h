// certify/verify/json_fields.h
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace casemate::verify {

using Json = nlohmann::json;

/// Thrown inside this library where bytes are no certificate; `read_certificate` catches it.
struct Malformed {
  std::string message;
};

/// Parses `text` and sees that it is written the one way it can be: sorted keys, no white space, integers only where
/// numbers stand. Throws Malformed.
[[nodiscard]] Json parse_canonical(std::string_view text);

/// A JSON object with exactly these keys. Each getter throws Malformed, naming the field.
class Fields {
 public:
  Fields(const Json& json, std::string where, std::initializer_list<std::string_view> keys);

  [[nodiscard]] const Json& at(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high) const;
  [[nodiscard]] bool flag(std::string_view key) const;
  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] const Json& array(std::string_view key, std::size_t least, std::size_t most) const;
  [[nodiscard]] std::string path(std::string_view key) const { return where_ + "." + std::string(key); }

 private:
  const Json& json_;
  std::string where_;
};

std::int64_t integer_of(const Json& json, const std::string& where, std::int64_t low, std::int64_t high);
[[nodiscard]] std::string text_of(const Json& json, const std::string& where);
/// The bytes of `json`, a string of 2 * `count` lower-case hexadecimal digits.
[[nodiscard]] std::string bytes_of(const Json& json, const std::string& where, std::size_t count);
const Json& array_of(const Json& json, const std::string& where, std::size_t least, std::size_t most);

}  // namespace casemate::verify
