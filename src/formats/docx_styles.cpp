#include "formats/docx_styles.h"

#include <cstdlib>
#include <map>

namespace casemate {
namespace {

bool is_on(const pugi::xml_node& toggle) {
  if (!toggle) return false;
  const std::string_view value = value_of(toggle);
  return value != "0" && value != "false" && value != "off" && value != "none";
}

bool is_white(std::string_view color) {
  if (color.size() != 6) return false;
  for (const char c : color.substr(0, 6)) {
    if (c != 'f' && c != 'F') return false;
  }
  return true;
}

}  // namespace

std::string_view local_name(const char* name) {
  const std::string_view full(name);
  const std::size_t colon = full.find(':');
  return colon == std::string_view::npos ? full : full.substr(colon + 1);
}

pugi::xml_node child_of(const pugi::xml_node& node, std::string_view name) {
  for (const pugi::xml_node child : node.children()) {
    if (local_name(child.name()) == name) return child;
  }
  return {};
}

std::string_view value_of(const pugi::xml_node& node, std::string_view attribute) {
  for (const pugi::xml_attribute found : node.attributes()) {
    if (local_name(found.name()) == attribute) return found.value();
  }
  return {};
}

std::string hidden_run_reason(const pugi::xml_node& run_properties) {
  if (!run_properties) return {};
  if (is_on(child_of(run_properties, "vanish"))) return "hidden text (vanish)";
  if (is_on(child_of(run_properties, "webHidden"))) return "hidden text (webHidden)";
  const bool ground =
      static_cast<bool>(child_of(run_properties, "shd")) || static_cast<bool>(child_of(run_properties, "highlight"));
  if (!ground && is_white(value_of(child_of(run_properties, "color")))) return "white text";
  const std::string size(value_of(child_of(run_properties, "sz")));  // half points
  if (!size.empty() && std::atoi(size.c_str()) <= 2) return "text of 1 pt or less";
  return {};
}

std::set<std::string, std::less<>> hidden_styles(const pugi::xml_document& styles) {
  std::map<std::string, std::string> based_on;
  std::set<std::string, std::less<>> hidden;
  for (const pugi::xml_node style : styles.document_element().children()) {
    if (local_name(style.name()) != "style") continue;
    const std::string id(value_of(style, "styleId"));
    based_on[id] = std::string(value_of(child_of(style, "basedOn")));
    if (is_on(child_of(child_of(style, "rPr"), "vanish"))) hidden.insert(id);
  }
  for (const auto& [id, base] : based_on) {
    std::string at = base;
    for (int steps = 0; steps < 16 && !at.empty(); ++steps) {
      if (hidden.contains(at)) {
        hidden.insert(id);
        break;
      }
      const auto next = based_on.find(at);
      at = next == based_on.end() ? std::string() : next->second;
    }
  }
  return hidden;
}

}  // namespace casemate
