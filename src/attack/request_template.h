// Requests with places to fill, and places in replies.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"

namespace casemate {

using TemplateValues = std::map<std::string, std::string, std::less<>>;

/// Names of the places {{name}} in `text`, in order.
[[nodiscard]] std::vector<std::string> template_names(std::string_view text);
/// Those that stand in keys of the JSON `body`, where nothing is filled in.
[[nodiscard]] std::vector<std::string> names_in_keys(const std::string& body);
/// `path` with each place filled by its value, percent-encoded as one segment.
[[nodiscard]] std::string fill_path(std::string_view path, const TemplateValues& values);
/// The JSON `body` with places in its texts filled; valid UTF-8 whatever the values hold. Empty for an empty body.
/// `body` is valid JSON.
[[nodiscard]] std::string fill_body(const std::string& body, const TemplateValues& values);

/// Whether `pointer` is empty or begins with "/", "~" standing for itself only as "~0" and "~1".
[[nodiscard]] bool is_json_path(std::string_view pointer);
/// What stands in `document` at a JSON pointer in which "*" stands for each element of a list: in order, without those
/// that are not there. Does not recurse.
[[nodiscard]] std::vector<const nlohmann::json*> at_json_path(const nlohmann::json& document, std::string_view pointer);

}  // namespace casemate
