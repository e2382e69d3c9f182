// casemate/pipeline/prepare.h
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "casemate/core/progress.h"
#include "casemate/core/status.h"
#include "casemate/defend/defences.h"
#include "casemate/store/store.h"

namespace casemate {

/// Defences that a store keeps vectors for, whenever documents are added to it. Error: Corrupt for a damaged list.
[[nodiscard]] Result<std::vector<DefenceChoice>> prepared_defences(const Store& store);
/// Adds to that list; a defence whose vectors are kept already changes nothing.
[[nodiscard]] Status remember_prepared(Store& store, const DefenceChoice& choice);

/// The defences among `choices` that scan, one for each kind of vectors: two that need the same ones count once,
/// however their options are written. `services` must outlive them. Error: what `create_scan_defence` says.
[[nodiscard]] Result<std::vector<std::unique_ptr<ScanDefence>>> prepared_scans(std::span<const DefenceChoice> choices,
                                                                               const DefenceServices& services);

struct PrepareSummary {
  std::uint64_t passages = 0;            ///< that got vectors or cached values in this run
  std::uint64_t already = 0;             ///< that had them
  std::uint64_t repeated_fragments = 0;  ///< passages too short for that many distinct fragments
};

/// Makes the vectors of `recipe` for all passages of `tenant` that have none, in batches that are durable when counted:
/// after a kill or a stop the next run goes on. Error: what store, encoder or model say; Cancelled.
[[nodiscard]] Result<PrepareSummary> complete_vectors(Store& store, std::string_view tenant, const VectorRecipe& recipe,
                                                      Progress& progress, std::stop_token stop);

/// Lets `defence` compute what does not depend on a query for all passages of `tenant`, into its cache.
/// Error: as above.
[[nodiscard]] Result<PrepareSummary> precompute_passages(const Store& store, std::string_view tenant,
                                                         const RetrievalDefence& defence, Progress& progress,
                                                         std::stop_token stop);

}  // namespace casemate
