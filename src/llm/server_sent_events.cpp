#include "llm/server_sent_events.h"

#include <utility>

namespace casemate::llm {

std::vector<std::string> ServerSentEvents::push(std::string_view bytes) {
  std::vector<std::string> events;
  for (const char c : bytes) {
    const bool second_half = after_return_ && c == '\n';
    after_return_ = c == '\r';
    if (second_half) continue;
    if (c == '\n' || c == '\r') {
      end_line(events);
    } else {
      line_ += c;
    }
  }
  return events;
}

void ServerSentEvents::end_line(std::vector<std::string>& events) {
  std::string_view line(line_);
  if (std::exchange(first_line_, false) && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  if (line.empty()) {
    if (has_data_) events.push_back(std::move(data_));
    data_.clear();
    has_data_ = false;
  } else if (line == "data" || line.starts_with("data:")) {
    std::string_view value = line.size() > 5 ? line.substr(5) : std::string_view();
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
  }
  line_.clear();
}

}  // namespace casemate::llm
