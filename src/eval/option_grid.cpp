#include "eval/option_grid.h"

#include <algorithm>

namespace casemate {
namespace {

constexpr std::size_t kMost = 1000;

/// A scalar as it can stand in a flow map.
std::string flow_scalar(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_' || c == '+' || c == '/';
  });
  if (plain) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

}  // namespace

Result<std::vector<std::string>> expand_grid(const YamlValue& entry) {
  if (!entry.is_map()) {
    const auto text = entry.text();
    if (!text) return text.error();
    return std::vector<std::string>{*text};
  }
  const auto name = entry.find("name");
  if (!name) return entry.error(ErrorCode::kInvalidInput, "needs a \"name\" beside its options");
  const auto name_text = name->text();
  if (!name_text) return name_text.error();
  std::vector<std::string> options = {""};
  for (const std::string& key : entry.keys()) {
    if (key == "name") continue;
    const YamlValue value = *entry.find(key);
    std::vector<std::string> values;
    if (value.is_list()) {
      const auto texts = value.texts();
      if (!texts) return texts.error();
      values = *texts;
      if (values.empty()) return value.error(ErrorCode::kInvalidInput, "is an empty list");
    } else {
      const auto text = value.text();
      if (!text) return text.error();
      values = {*text};
    }
    std::vector<std::string> longer;
    for (const std::string& before : options) {
      for (const std::string& each : values)
        longer.push_back(before + (before.empty() ? "" : ", ") + key + ": " + flow_scalar(each));
    }
    options = std::move(longer);
    if (options.size() > kMost)
      return entry.error(ErrorCode::kLimit, "stands for more than " + std::to_string(kMost) + " combinations");
  }
  std::vector<std::string> out;
  for (const std::string& each : options) out.push_back(each.empty() ? *name_text : *name_text + "{" + each + "}");
  return out;
}

}  // namespace casemate
