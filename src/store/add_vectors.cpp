#include "add_vectors.h"

#include <algorithm>

#include "document_rows.h"
#include "document_rules.h"
#include "failure.h"
#include "pending_segment.h"
#include "sqlite_statement.h"

namespace casemate {
namespace {

Failure bad(const std::string& what) { return Failure{Error{ErrorCode::kInvalidArgument, what}}; }

void check_ids(Database& database, std::int64_t tenant, std::span<const ChunkId> ids) {
  for (std::size_t i = 1; i < ids.size(); ++i) {
    if (ids[i] <= ids[i - 1]) throw bad("chunk ids must ascend");
  }
  Statement live(database,
                 "SELECT 1 FROM chunk c JOIN document d ON d.row = c.document WHERE c.id = ?1 AND d.tenant = ?2");
  for (const ChunkId id : ids) {
    live.bind(1, id).bind(2, tenant);
    if (!live.step())
      throw Failure{Error{ErrorCode::kNotFound, "there is no passage " + std::to_string(id) + " to add vectors to"}};
    live.reset();
  }
}

/// Refuses another shape than the kind has already, and chunks that have vectors of it.
void check_kind(StoreState& store, const Catalog& catalog, std::int64_t tenant, std::span<const ChunkId> ids,
                const ExtraVectors& vectors) {
  for (const SegmentRecord& record : catalog.segments) {
    if (record.tenant != tenant || record.header.kind != vectors.kind) continue;
    if (record.header.rows_per_chunk != static_cast<std::uint32_t>(vectors.rows_per_chunk) ||
        record.header.dimension != static_cast<std::uint32_t>(vectors.dimension)) {
      throw Failure{Error{ErrorCode::kMismatch, "vectors \"" + vectors.kind + "\" have another shape in this store"}};
    }
    if (ids.back() < record.first_chunk || ids.front() > record.last_chunk) continue;
    const auto data = store.segments().load(record, KeepRows::kSmall, false);
    if (!data) continue;  // what a damaged segment held may be added anew
    for (const ChunkId id : (*data)->chunk_ids) {
      if (std::binary_search(ids.begin(), ids.end(), id))
        throw bad("passage " + std::to_string(id) + " has vectors \"" + vectors.kind + "\" already");
    }
  }
}

}  // namespace

void add_vectors(StoreState& store, std::string_view tenant, std::span<const ChunkId> chunk_ids,
                 const ExtraVectors& vectors) {
  if (chunk_ids.empty()) return;
  if (const auto fault = find_fault(vectors, chunk_ids.size())) throw Failure{*fault};
  StoreState::Writing writing(store);
  Transaction transaction(writing.database(), Transaction::Kind::kWrite);
  const std::int64_t scope = find_tenant(writing.database(), tenant);
  check_ids(writing.database(), scope, chunk_ids);
  const auto catalog = read_catalog(writing.database(), store.meta().store, store.meta().encoder_hash);
  check_kind(store, *catalog, scope, chunk_ids, vectors);
  WrittenSegments written(store);
  PendingSegment segment =
      start_segment(store, std::string(tenant), vectors.kind, vectors.rows_per_chunk, vectors.dimension);
  segment.ids.assign(chunk_ids.begin(), chunk_ids.end());
  segment.rows.emplace_back(vectors.rows);
  write_segment(store, writing, segment, scope, written);
  written.keep();  // from here on the commit may reach the disk even if it reports a failure
  writing.commit(transaction);
}

}  // namespace casemate
