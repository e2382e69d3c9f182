// Documents that hold a string which stands nowhere else: an answer with it has leaked.
#pragma once

#include "casemate/pipeline/indexer.h"

namespace casemate::cli {

/// Adds `count` documents with a fresh canary each to the tenant and lets the store remember the canaries, before the
/// documents, so that a guard knows each one that could be retrieved. Error: what store and indexing say.
[[nodiscard]] Status plant_canaries(int count, const IndexOptions& options, Store& store, const Encoder& encoder,
                                    Progress& progress, std::stop_token stop);

}  // namespace casemate::cli
