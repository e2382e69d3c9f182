#include "casemate/text/finding.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "casemate/core/utf8.h"

namespace casemate {
namespace {

constexpr std::array<std::string_view, 12> kNames = {
    "invisible_characters", "soft_hyphens", "bidi_controls", "tag_characters", "control_characters", "invalid_utf8",
    "hidden_html",          "html_comment", "alt_flood",     "aria_hidden",    "hidden_text",        "deleted_text"};

constexpr std::string_view kMerged = "; further ones are counted in this entry";

void append_unit(std::string& out, unsigned unit) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, "\\u%04x", unit);
  out += buffer;
}

/// A JSON string of ASCII only: whatever shows it, no character of the excerpt can reorder or hide anything.
std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = read_code_point(text, at);
    at += point.length;
    const char32_t value = point.value == kInvalidCodePoint ? 0xFFFD : point.value;
    if (value == '"' || value == '\\') {
      out += '\\';
      out += static_cast<char>(value);
    } else if (value >= 0x20 && value < 0x7F) {
      out += static_cast<char>(value);
    } else if (value < 0x10000) {
      append_unit(out, static_cast<unsigned>(value));
    } else {
      append_unit(out, static_cast<unsigned>(0xD800U + ((value - 0x10000U) >> 10U)));
      append_unit(out, static_cast<unsigned>(0xDC00U + ((value - 0x10000U) & 0x3FFU)));
    }
  }
  return out + '"';
}

}  // namespace

std::string_view finding_kind_name(FindingKind kind) noexcept { return kNames.at(static_cast<std::size_t>(kind)); }

std::string finding_json(const Finding& finding) {
  return "{\"kind\":\"" + std::string(finding_kind_name(finding.kind)) +
         "\",\"begin\":" + std::to_string(finding.source.begin) + ",\"end\":" + std::to_string(finding.source.end) +
         ",\"count\":" + std::to_string(finding.count) + ",\"excerpt\":" + json_string(finding.excerpt.bytes()) +
         ",\"note\":" + json_string(finding.note) + "}";
}

void FindingCollector::add(Finding finding) {
  const auto kind = static_cast<std::size_t>(finding.kind);
  if (counts_.empty()) {
    counts_.resize(kNames.size());
    last_.resize(kNames.size());
  }
  if (counts_[kind] < max_per_kind_) {
    ++counts_[kind];
    last_[kind] = findings_.size();
    findings_.push_back(std::move(finding));
    return;
  }
  Finding& last = findings_[last_[kind]];
  if (!last.note.ends_with(kMerged)) last.note += kMerged;
  last.count += finding.count;
  last.source.begin = std::min(last.source.begin, finding.source.begin);
  last.source.end = std::max(last.source.end, finding.source.end);
}

std::vector<Finding> FindingCollector::take() && { return std::move(findings_); }

bool looks_like_instruction(std::string_view text) {
  static constexpr std::array<std::string_view, 22> kPhrases = {
      "ignore previous", "ignore all",    "ignore the above", "ignore any",        "disregard",
      "system prompt",   "you are now",   "you must",         "your instructions", "new instructions",
      "as an ai",        "assistant:",    "respond with",     "reply with",        "answer with",
      "do not mention",  "do not reveal", "reveal your",      "developer mode",    "language model",
      "<|im_start|>",    "[inst]"};
  std::string lower;
  lower.reserve(text.size());
  for (const char c : text) {
    const char low = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : (c == '\n' || c == '\t' || c == '\r') ? ' ' : c;
    if (low != ' ' || lower.empty() || lower.back() != ' ') lower += low;
  }
  return std::any_of(kPhrases.begin(), kPhrases.end(),
                     [&](std::string_view phrase) { return lower.find(phrase) != std::string::npos; });
}

}  // namespace casemate
