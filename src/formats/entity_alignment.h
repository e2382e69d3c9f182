// formats/entity_alignment.h
#pragma once

#include <cstddef>
#include <string_view>

#include "casemate/text/offset_map.h"

namespace casemate {

/// Appends to `map` where each byte of `decoded` comes from, given that a parser made it from `original`, which begins
/// at byte `offset` of the source: character references were replaced, CR LF became LF, tags in between were dropped.
/// Exact for every byte that was copied; where the two cannot be matched, the rest corresponds as a whole. Linear.
void align_decoded(std::string_view original, std::size_t offset, std::string_view decoded, OffsetMap& map);

}  // namespace casemate
