#include "eval/json_lines.h"

#include "casemate/core/file_system.h"
#include "casemate/core/untrusted_text.h"
#include "formats/json_value.h"

namespace casemate {

Status each_json_line(const std::string& path,
                      const std::function<std::string(const nlohmann::json&, std::size_t)>& take) {
  const auto content = read_file(path, UINT64_C(4) << 30U);
  if (!content) return content.error();
  std::string_view text = *content;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto parsed = parse_json(line, 64);
    std::string wrong;
    if (!parsed) {
      wrong = parsed.error().message;
    } else if (!parsed->is_object()) {
      wrong = "expected a JSON object, found " + std::string(parsed->type_name());
    } else {
      wrong = take(*parsed, number);
    }
    if (!wrong.empty()) {
      return Error{ErrorCode::kInvalidInput,
                   UntrustedText(path).for_log() + ":" + std::to_string(number) + ": " + wrong};
    }
  }
  return {};
}

}  // namespace casemate
