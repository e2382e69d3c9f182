#include "casemate/core/untrusted_text.h"

#include <cstdio>

#include "casemate/core/utf8.h"

namespace casemate {
namespace {

template <typename Visit>
void for_each_code_point(std::string_view text, Visit visit) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = read_code_point(text, at);
    visit(point.value, text.substr(at, point.length));
    at += point.length;
  }
}

void append_escaped(std::string& out, char32_t value, std::string_view raw) {
  char buffer[16];
  if (value == kInvalidCodePoint) {
    for (const char byte : raw) {
      std::snprintf(buffer, sizeof buffer, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
      out += buffer;
    }
    return;
  }
  std::snprintf(buffer, sizeof buffer, "\\u{%x}", static_cast<unsigned>(value));
  out += buffer;
}

std::string escaped(std::string_view text, bool keep_newlines, std::size_t max_bytes) {
  std::string out;
  bool cut = false;
  for_each_code_point(text, [&](char32_t value, std::string_view raw) {
    if (cut) return;
    if (out.size() >= max_bytes) {
      cut = true;
      out += "...";
      return;
    }
    if ((value == '\n' && keep_newlines) || value == '\t') {
      out += static_cast<char>(value == '\t' && !keep_newlines ? ' ' : static_cast<char>(value));
    } else if (value == kInvalidCodePoint || is_control(value) || is_invisible(value) || value == 0x2028 ||
               value == 0x2029) {
      append_escaped(out, value, raw);
    } else {
      out.append(raw);
    }
  });
  return out;
}

}  // namespace

std::string UntrustedText::for_prompt() const {
  std::string out;
  out.reserve(bytes_.size());
  for_each_code_point(bytes_, [&](char32_t value, std::string_view raw) {
    if (value == kInvalidCodePoint) {
      append_code_point(out, 0xFFFD);
    } else if (is_control(value) && value != '\n' && value != '\t') {
      out += ' ';
    } else {
      out.append(raw);
    }
  });
  return out;
}

std::string UntrustedText::for_terminal() const { return escaped(bytes_, true, std::string::npos); }

std::string UntrustedText::for_log(std::size_t max_bytes) const { return escaped(bytes_, false, max_bytes); }

std::string UntrustedText::for_html() const {
  std::string out;
  out.reserve(bytes_.size());
  for_each_code_point(bytes_, [&](char32_t value, std::string_view raw) {
    switch (value) {
      case '&':
        out += "&amp;";
        return;
      case '<':
        out += "&lt;";
        return;
      case '>':
        out += "&gt;";
        return;
      case '"':
        out += "&quot;";
        return;
      case '\'':
        out += "&#39;";
        return;
      case kInvalidCodePoint:
        append_code_point(out, 0xFFFD);
        return;
      default:
        break;
    }
    if (!is_control(value) || value == '\n' || value == '\t') out.append(raw);
  });
  return out;
}

std::string UntrustedText::for_json() const { return to_valid_utf8(bytes_); }

}  // namespace casemate
