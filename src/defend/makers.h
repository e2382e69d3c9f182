// src/defend/makers.h
#pragma once

#include "casemate/core/named_options.h"
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

}  // namespace casemate
