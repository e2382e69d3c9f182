#pragma once

#include "store_state.h"

namespace casemate {

/// `Store::bm25` and `Store::select`. Throw Failure.
[[nodiscard]] std::vector<Bm25Hit> bm25(Database& database, std::string_view tenant, const UntrustedText& query,
                                        int top_k, const ChunkSet* allowed);
[[nodiscard]] ChunkSet select_chunks(Database& database, std::string_view tenant, const DocumentFilter& filter);

}  // namespace casemate
