// The event stream format of the HTML standard, data fields only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace casemate::llm {

class ServerSentEvents {
 public:
  /// Adds bytes, cut anywhere; returns the data of the events that are complete now.
  std::vector<std::string> push(std::string_view bytes);

 private:
  void end_line(std::vector<std::string>& events);
  std::string line_;
  std::string data_;
  bool has_data_ = false;
  bool after_return_ = false;
  bool first_line_ = true;
};

}  // namespace casemate::llm
