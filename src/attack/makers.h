// src/attack/makers.h
#pragma once

#include <memory>

#include "casemate/attack/attack.h"
#include "casemate/core/yaml_options.h"

namespace casemate {

// Each fills its attack's options from a YAML map. Error: InvalidOption for a bad or misspelt option.
using MadeAttack = Result<std::unique_ptr<Attack>>;
[[nodiscard]] MadeAttack make_advraggen(const YamlValue& map);
[[nodiscard]] MadeAttack make_contradictory(const YamlValue& map);
[[nodiscard]] MadeAttack make_hotflip(const YamlValue& map);
[[nodiscard]] MadeAttack make_hotflip_ragmask(const YamlValue& map);
[[nodiscard]] MadeAttack make_hotflip_ragpart(const YamlValue& map);
[[nodiscard]] MadeAttack make_hotflip_spread(const YamlValue& map);
[[nodiscard]] MadeAttack make_irrelevant(const YamlValue& map);
[[nodiscard]] MadeAttack make_leak(const YamlValue& map);
[[nodiscard]] MadeAttack make_near_duplicate(const YamlValue& map);
[[nodiscard]] MadeAttack make_pia(const YamlValue& map);
[[nodiscard]] MadeAttack make_poison(const YamlValue& map);
[[nodiscard]] MadeAttack make_query_as_poison(const YamlValue& map);
[[nodiscard]] MadeAttack make_query_noise(const YamlValue& map);

}  // namespace casemate
