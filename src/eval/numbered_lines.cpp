#include "eval/numbered_lines.h"

namespace casemate {

Status each_numbered_line(std::string_view text, std::string_view name,
                          const std::function<std::string(std::string_view, std::size_t)>& take) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string wrong = take(line, number);
    if (!wrong.empty())
      return Error{ErrorCode::kInvalidInput, std::string(name) + ":" + std::to_string(number) + ": " + wrong};
  }
  return {};
}

}  // namespace casemate
