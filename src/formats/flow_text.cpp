#include "formats/flow_text.h"

#include <algorithm>

namespace casemate {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

}  // namespace

void FlowText::put(std::string_view text, ByteSpan from) {
  text_ += text;
  offsets_.append(text.size(), from);
}

void FlowText::part(int line_ends) {
  line_ends_ = std::max(line_ends_, line_ends);
  if (line_ends == 0) tab_ = true;
}

void FlowText::separate(std::size_t offset) {
  if (!text_.empty()) {
    if (line_ends_ > 0) {
      const auto have = static_cast<int>(text_.ends_with("\n\n") ? 2 : text_.ends_with('\n') ? 1 : 0);
      for (int i = have; i < line_ends_; ++i) put("\n", {offset, offset});
    } else if (tab_) {
      put("\t", {offset, offset});
    } else if (blank_ && !is_space(text_.back())) {
      put(" ", blank_from_);
    }
  }
  line_ends_ = 0;
  tab_ = false;
  blank_ = false;
}

void FlowText::add(std::string_view text, std::size_t offset, bool preformatted) {
  if (preformatted) {
    if (text.empty()) return;
    separate(offset);
    put(text, {offset, offset + text.size()});
    return;
  }
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = at;
    if (is_space(text[at])) {
      while (end < text.size() && is_space(text[end])) ++end;
      if (!blank_) blank_from_ = {offset + at, offset + end};
      blank_ = true;
    } else {
      // Single blanks inside are part of the run.
      while (end < text.size() &&
             (!is_space(text[end]) || (text[end] == ' ' && end + 1 < text.size() && !is_space(text[end + 1])))) {
        ++end;
      }
      separate(offset + at);
      put(text.substr(at, end - at), {offset + at, offset + end});
    }
    at = end;
  }
}

}  // namespace casemate
