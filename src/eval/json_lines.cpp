#include "eval/json_lines.h"

#include "casemate/core/file_system.h"
#include "casemate/core/untrusted_text.h"
#include "eval/numbered_lines.h"
#include "formats/json_value.h"

namespace casemate {

Status each_json_line(const std::string& path,
                      const std::function<std::string(const nlohmann::json&, std::size_t)>& take) {
  const auto content = read_file(path, UINT64_C(4) << 30U);
  if (!content) return content.error();
  return each_numbered_line(*content, UntrustedText(path).for_log(), [&](std::string_view line, std::size_t number) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return std::string();
    const auto parsed = parse_json(line, 64);
    if (!parsed) return parsed.error().message;
    if (!parsed->is_object()) return "expected a JSON object, found " + std::string(parsed->type_name());
    return take(*parsed, number);
  });
}

std::string text_of(const nlohmann::json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace casemate
