// eval/report/script_json.h
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace casemate {

/// JSON for inside a script element: no "<", ">" or "&" stands in it, so that no text can end the element or open a
/// comment. Invalid UTF-8 becomes U+FFFD.
[[nodiscard]] inline std::string script_json(const nlohmann::json& value) {
  std::string out;
  for (const char c : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) {
    // These stand in JSON inside strings alone, where the escape means the same.
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace casemate
