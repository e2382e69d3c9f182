// casemate/core/named_options.h
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "casemate/core/status.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/core/yaml_options.h"

namespace casemate {

/// How defences, attacks, sanitizers and ways to answer are written: "ragmask{delta: 0.2}", "suppression".
struct NamedOptions {
  std::string name;            ///< without blanks and a colon at its end
  std::string options = "{}";  ///< from the first "{" on
};
[[nodiscard]] NamedOptions split_named_options(std::string_view text);

/// The options as YAML. Error: InvalidInput, naming `name`, where they are no map.
[[nodiscard]] Result<YamlValue> parse_named_options(const std::string& name, const std::string& options);

/// Takes `text` for one of `choices`; an empty text leaves `out` as it is. Error: InvalidOption, listing what may stand
/// there.
template <class Enum, std::size_t n>
Status read_choice(const std::string& text, std::string_view field,
                   const std::array<std::pair<std::string_view, Enum>, n>& choices, Enum& out) {
  if (text.empty()) return {};
  std::string known;
  for (const auto& [name, value] : choices) {
    if (name == text) {
      out = value;
      return {};
    }
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  return Error{ErrorCode::kInvalidOption,
               std::string(field) + " is \"" + UntrustedText(text).for_log() + "\", it must be one of " + known};
}

}  // namespace casemate
