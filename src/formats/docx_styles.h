// formats/docx_styles.h
#pragma once

#include <pugixml.hpp>
#include <set>
#include <string>
#include <string_view>

namespace casemate {

/// The name of an element or attribute without its namespace prefix (WordprocessingML is written with any).
[[nodiscard]] std::string_view local_name(const char* name);
/// The first child / attribute of that local name.
[[nodiscard]] pugi::xml_node child_of(const pugi::xml_node& node, std::string_view name);
[[nodiscard]] std::string_view value_of(const pugi::xml_node& node, std::string_view attribute = "val");

/// Why run properties (w:rPr) hide their text: vanish, white without a ground, or 1 pt and less; empty where they do
/// not.
[[nodiscard]] std::string hidden_run_reason(const pugi::xml_node& run_properties);

/// Ids of the styles of styles.xml that hide their text, themselves or through what they are based on.
[[nodiscard]] std::set<std::string, std::less<>> hidden_styles(const pugi::xml_document& styles);

}  // namespace casemate
