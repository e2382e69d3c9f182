// casemate/defend/defences.h
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "casemate/core/status.h"
#include "casemate/core/yaml_options.h"
#include "casemate/defend/retrieval_defence.h"
#include "casemate/defend/scan_defence.h"

namespace casemate {

class Encoder;
class LanguageModel;
class PassageCache;
class Reranker;

/// What defences may use. Not owned; what is used must outlive the defence. Null: not there, and a defence that needs
/// it says so when it is created.
struct DefenceServices {
  const Encoder* encoder = nullptr;
  LanguageModel* model = nullptr;
  const Reranker* reranker = nullptr;
  const Store* store = nullptr;  ///< for sealed sets and calibrations
  PassageCache* cache = nullptr;
  const ThreadPool* pool = nullptr;
};

/// A defence by name, with its options as one YAML map: `{max_cosine: 0.97}`.
struct DefenceChoice {
  std::string name;
  std::string options = "{}";
};

/// One line of the registration table.
struct DefenceEntry {
  std::string_view name;
  std::string_view summary;  ///< one line
  bool scans = false;        ///< takes the place of the scan (ScanDefence), so it can only stand first
  bool needs_model = false;  ///< a language model is used, unless the option `by` names another judge
  Result<std::unique_ptr<RetrievalDefence>> (*create)(const YamlValue&, const DefenceServices&) = nullptr;
  Result<std::unique_ptr<ScanDefence>> (*create_scan)(const YamlValue&, const DefenceServices&) = nullptr;
};

/// All defences, in the order of their names. Each has a page docs/defences/NAME.md.
[[nodiscard]] std::span<const DefenceEntry> defences() noexcept;

/// Error: NotFound, naming the nearest one and listing all.
[[nodiscard]] Result<const DefenceEntry*> find_defence(std::string_view name);

/// True where making what the defence needs beside passages (`casemate prepare`) asks a language model.
[[nodiscard]] bool prepares_with_model(const DefenceChoice& choice);

/// True where ranking by the defence with these options asks a language model. False for unknown names and malformed
/// options.
[[nodiscard]] bool needs_model(const DefenceChoice& choice);

/// "suppression" or "suppression{max_cosine: 0.9}". Error: NotFound for an unknown name; InvalidInput for other forms.
[[nodiscard]] Result<DefenceChoice> parse_defence(std::string_view text);

/// Error: NotFound; InvalidOption for a bad or misspelt option; InvalidArgument where a service that it needs is
/// missing, or where the defence is of the other kind.
[[nodiscard]] Result<std::unique_ptr<RetrievalDefence>> create_defence(const DefenceChoice& choice,
                                                                       const DefenceServices& services);
[[nodiscard]] Result<std::unique_ptr<ScanDefence>> create_scan_defence(const DefenceChoice& choice,
                                                                       const DefenceServices& services);

}  // namespace casemate
