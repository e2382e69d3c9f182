// src/defend/makers.h
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "casemate/defend/defences.h"

namespace casemate {

// One function a defence: fills its options from YAML and makes it. The registration table in defences.cpp names them.
// Error: InvalidOption for a bad or misspelt option; what the defence's `create` says.

using MadeDefence = Result<std::unique_ptr<RetrievalDefence>>;
using MadeScan = Result<std::unique_ptr<ScanDefence>>;

[[nodiscard]] MadeDefence make_cluster(const YamlValue& map, const DefenceServices& services);
[[nodiscard]] MadeDefence make_consistency(const YamlValue& map, const DefenceServices& services);
[[nodiscard]] MadeDefence make_perplexity(const YamlValue& map, const DefenceServices& services);
[[nodiscard]] MadeDefence make_fingerprint(const YamlValue& map, const DefenceServices& services);
[[nodiscard]] MadeDefence make_ragmask(const YamlValue& map, const DefenceServices& services);
[[nodiscard]] MadeDefence make_rerank(const YamlValue& map, const DefenceServices& services);
[[nodiscard]] MadeDefence make_suppression(const YamlValue& map, const DefenceServices& services);
[[nodiscard]] MadeScan make_naive(const YamlValue& map, const DefenceServices& services);
[[nodiscard]] MadeScan make_paraphrase(const YamlValue& map, const DefenceServices& services);
[[nodiscard]] MadeScan make_ragpart(const YamlValue& map, const DefenceServices& services);

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
