#pragma once

#include <span>
#include <vector>

#include "store_state.h"

namespace casemate {

/// `Store::add_documents`, `Store::delete_documents` and `Store::set_sources`. Throw Failure.
[[nodiscard]] std::vector<AddResult> add_documents(StoreState& store, std::span<const NewDocument> documents);
[[nodiscard]] std::int64_t delete_documents(StoreState& store, std::string_view tenant,
                                            std::span<const std::string> ids);
void set_sources(StoreState& store, std::string_view tenant, std::span<const DocumentSource> sources);

}  // namespace casemate
