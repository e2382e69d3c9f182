#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "document_rows.h"
#include "store_state.h"

namespace casemate {

/// Vectors that go into one new segment. The rows belong to the caller and must live until `write_segment`.
struct PendingSegment {
  SegmentHeader header;
  std::vector<ChunkId> ids;  ///< ascending
  std::vector<std::span<const float>> rows;
};

/// A segment of `tenant` without rows so far.
[[nodiscard]] PendingSegment start_segment(const StoreState& store, const std::string& tenant_name,
                                           const std::string& kind, int rows_per_chunk, int dimension);

/// Writes the file and names it in the open transaction. Throws Failure.
void write_segment(StoreState& store, StoreState::Writing& writing, PendingSegment& segment, std::int64_t tenant,
                   WrittenSegments& written);

}  // namespace casemate
