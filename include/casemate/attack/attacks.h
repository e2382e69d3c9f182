// casemate/attack/attacks.h
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "casemate/attack/attack.h"
#include "casemate/core/status.h"
#include "casemate/core/yaml_options.h"

namespace casemate {

/// An attack by name, with its options as one YAML map: `{rate: 0.05}`.
struct AttackChoice {
  std::string name;
  std::string options = "{}";
};

/// One line of the registration table. Ids are separated by blanks; empty where no technique fits.
struct AttackEntry {
  std::string_view name;
  std::string_view summary;  ///< one line
  AttackAccess access = AttackAccess::kCorpusOnly;
  std::string_view atlas;       ///< MITRE ATLAS techniques
  std::string_view owasp_2025;  ///< OWASP top ten for language model applications, 2025
  std::string_view owasp_2026;
  Result<std::unique_ptr<Attack>> (*create)(const YamlValue&) = nullptr;
  bool uses_model = false;     ///< may need a language model
  bool needs_corpus = true;    ///< alters passages that are there; else the queries are enough
  bool needs_encoder = false;  ///< the retriever's
};

/// All attacks, in the order of their names (docs/attacks.md describes each).
[[nodiscard]] std::span<const AttackEntry> attacks() noexcept;

/// Error: NotFound, naming the nearest one and listing all.
[[nodiscard]] Result<const AttackEntry*> find_attack(std::string_view name);

/// "near-duplicate" or "near-duplicate{rate: 0.1}". Error: NotFound for an unknown name; InvalidInput for other forms.
[[nodiscard]] Result<AttackChoice> parse_attack(std::string_view text);

/// Error: NotFound; InvalidOption for a bad or misspelt option.
[[nodiscard]] Result<std::unique_ptr<Attack>> create_attack(const AttackChoice& choice);

}  // namespace casemate
