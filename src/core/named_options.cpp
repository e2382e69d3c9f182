#include "casemate/core/named_options.h"

namespace casemate {

NamedOptions split_named_options(std::string_view text) {
  const std::size_t open = text.find('{');
  NamedOptions out;
  out.name = std::string(text.substr(0, open));
  while (!out.name.empty() && (out.name.back() == ' ' || out.name.back() == ':')) out.name.pop_back();
  if (open != std::string_view::npos) out.options = std::string(text.substr(open));
  return out;
}

Result<YamlValue> parse_named_options(const std::string& name, const std::string& options) {
  auto map = YamlValue::parse(options, name + " options");
  if (!map) return map;
  if (!map->is_map() && !map->is_null())
    return Error{ErrorCode::kInvalidInput, name + ": options are written as {name: value, ...}"};
  return map;
}

}  // namespace casemate
