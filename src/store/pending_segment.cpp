#include "pending_segment.h"

namespace casemate {

PendingSegment start_segment(const StoreState& store, const std::string& tenant_name, const std::string& kind,
                             int rows_per_chunk, int dimension) {
  PendingSegment segment;
  segment.header.store = store.meta().store;
  segment.header.encoder = store.meta().encoder_hash;
  segment.header.tenant = blake2b(tenant_name);
  segment.header.kind = kind;
  segment.header.rows_per_chunk = static_cast<std::uint32_t>(rows_per_chunk);
  segment.header.dimension = static_cast<std::uint32_t>(dimension);
  return segment;
}

void write_segment(StoreState& store, StoreState::Writing& writing, PendingSegment& segment, std::int64_t tenant,
                   WrittenSegments& written) {
  segment.header.id = writing.next_segment_id();
  segment.header.chunks = segment.ids.size();
  SegmentWriter writer(store.files(), store.path(), segment.header);
  writer.append_ids(segment.ids);
  for (const std::span<const float> rows : segment.rows) writer.append_rows(rows);
  written.add(segment.header.id);
  const Digest checksum = writer.finish();
  register_segment(writing.database(), segment.header, tenant, segment.ids.front(), segment.ids.back(), checksum);
}

}  // namespace casemate
