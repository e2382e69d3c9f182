// casemate/sanitize/sanitizers.h
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "casemate/core/status.h"
#include "casemate/core/yaml_options.h"
#include "casemate/sanitize/sanitizer.h"

namespace casemate {

class ApMemory;
class LanguageModel;
class Reranker;

/// What sanitizers may use. Not owned; what is used must outlive the sanitizer.
struct SanitizerServices {
  LanguageModel* model = nullptr;      ///< the auxiliary model, which writes facts; usually the generator
  LanguageModel* backbone = nullptr;   ///< a small model for keywords; null: `model`
  const Reranker* reranker = nullptr;  ///< for `advanced`; null: it ranks by common words
  ApMemory* keywords = nullptr;        ///< of an experiment's sanitizers together; null: each finds its own
};

/// A sanitizer by name, with its options as one YAML map: `{k_out: 2}`.
struct SanitizerChoice {
  std::string name;
  std::string options = "{}";
};

/// One line of the registration table.
struct SanitizerEntry {
  std::string_view name;
  std::string_view summary;  ///< one line
  bool protects = false;     ///< bounds what can leak; false: a baseline to be compared with
  Result<std::unique_ptr<Sanitizer>> (*create)(std::string_view name, const YamlValue&,
                                               const SanitizerServices&) = nullptr;
};

/// All sanitizers, in the order of their names. docs/leakage.md has a section on each.
[[nodiscard]] std::span<const SanitizerEntry> sanitizers() noexcept;

/// Error: NotFound, naming the nearest one or listing all.
[[nodiscard]] Result<const SanitizerEntry*> find_sanitizer(std::string_view name);

/// "kfs-fact" or "kfs-fact{k_out: 2}". Error: NotFound for an unknown name; InvalidInput for other forms.
[[nodiscard]] Result<SanitizerChoice> parse_sanitizer(std::string_view text);

/// Error: NotFound; InvalidOption for a bad or misspelt option; InvalidArgument where a model that it needs is missing;
/// Unsupported where the model cannot do what it needs; what reading a style file says.
[[nodiscard]] Result<std::unique_ptr<Sanitizer>> create_sanitizer(const SanitizerChoice& choice,
                                                                  const SanitizerServices& services);

}  // namespace casemate
