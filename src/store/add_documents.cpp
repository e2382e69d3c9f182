#include "add_documents.h"

#include <map>
#include <numeric>
#include <tuple>

#include "document_rows.h"
#include "document_rules.h"
#include "failure.h"
#include "pending_segment.h"

namespace casemate {
namespace {

/// One batch: rows go to the open transaction at once, vectors are gathered and written at the end.
class Batch {
 public:
  Batch(StoreState& store, StoreState::Writing& writing)
      : store_(store), writing_(writing), database_(writing.database()) {
    next_chunk_ = read_counter(database_, "next_chunk");
  }

  AddOutcome add(const NewDocument& document) {
    const TenantRow tenant{find_or_add_tenant(database_, document.tenant), document.tenant};
    const auto existing = find_document(database_, store_.meta().store, tenant, document.id);
    if (existing) {
      if (is_same(*existing, document)) return AddOutcome::kUnchanged;
      remove_document(database_, store_.meta().store, *existing);
    }
    insert_document(database_, store_.meta().store, tenant, document, next_chunk_, store_.clock().unix_seconds());
    gather(tenant, document);
    next_chunk_ += static_cast<std::int64_t>(document.chunks.size());
    changed_ = true;
    return existing ? AddOutcome::kReplaced : AddOutcome::kAdded;
  }

  void finish(Transaction& transaction) {
    if (!changed_) return;
    WrittenSegments written(store_);
    for (auto& [key, segment] : pending_) write_segment(store_, writing_, segment, std::get<0>(key), written);
    write_counter(database_, "next_chunk", next_chunk_);
    written.keep();  // from here on the commit may reach the disk even if it reports a failure
    writing_.commit(transaction);
  }

 private:
  bool is_same(const DocumentRow& existing, const NewDocument& document) {
    const StoredDocument& stored = existing.document;
    if (stored.content_hash != document.content_hash || existing.attributes_hash != attributes_hash(document))
      return false;
    const ChunkRange range{stored.first_chunk, stored.first_chunk + stored.chunk_count};
    return !store_.damaged_chunks(document.tenant).intersects(range);
  }

  void gather(const TenantRow& tenant, const NewDocument& document) {
    if (document.chunks.empty()) return;
    gather(tenant, kPassageVectors, 1, store_.meta().encoder.dimension, document.embeddings, document.chunks.size());
    for (const ExtraVectors& extra : document.extra_vectors) {
      gather(tenant, extra.kind, extra.rows_per_chunk, extra.dimension, extra.rows, document.chunks.size());
    }
  }

  void gather(const TenantRow& tenant, const std::string& kind, int rows_per_chunk, int dimension,
              std::span<const float> rows, std::size_t chunks) {
    PendingSegment& segment = pending_[{tenant.id, kind, rows_per_chunk, dimension}];
    if (segment.ids.empty()) segment = start_segment(store_, tenant.name, kind, rows_per_chunk, dimension);
    segment.ids.resize(segment.ids.size() + chunks);
    std::iota(segment.ids.end() - static_cast<std::ptrdiff_t>(chunks), segment.ids.end(), next_chunk_);
    segment.rows.push_back(rows);
  }

  StoreState& store_;
  StoreState::Writing& writing_;
  Database& database_;
  ChunkId next_chunk_;
  bool changed_ = false;
  std::map<std::tuple<std::int64_t, std::string, int, int>, PendingSegment> pending_;
};

}  // namespace

std::vector<AddResult> add_documents(StoreState& store, std::span<const NewDocument> documents) {
  StoreState::Writing writing(store);
  std::vector<AddResult> results;
  results.reserve(documents.size());
  Transaction transaction(writing.database(), Transaction::Kind::kWrite);
  Batch batch(store, writing);
  for (const NewDocument& document : documents) {
    if (auto fault = find_fault(document, store.meta().encoder.dimension)) {
      results.push_back({AddOutcome::kRefused, std::move(fault)});
    } else {
      results.push_back({batch.add(document), std::nullopt});
    }
  }
  batch.finish(transaction);
  return results;
}

std::int64_t delete_documents(StoreState& store, std::string_view tenant, std::span<const std::string> ids) {
  StoreState::Writing writing(store);
  Database& database = writing.database();
  Transaction transaction(database, Transaction::Kind::kWrite);
  const TenantRow row{find_tenant(database, tenant), std::string(tenant)};
  std::int64_t deleted = 0;
  for (const std::string& id : ids) {
    const auto found = row.id == 0 ? std::nullopt : find_document(database, store.meta().store, row, id);
    if (!found) continue;
    remove_document(database, store.meta().store, *found);
    ++deleted;
  }
  if (deleted > 0) writing.commit(transaction);
  return deleted;
}

void set_sources(StoreState& store, std::string_view tenant, std::span<const DocumentSource> sources) {
  StoreState::Writing writing(store);
  Database& database = writing.database();
  Transaction transaction(database, Transaction::Kind::kWrite);
  const TenantRow row{find_tenant(database, tenant), std::string(tenant)};
  for (const DocumentSource& source : sources) {
    auto found = row.id == 0 ? std::nullopt : find_document(database, store.meta().store, row, source.id);
    if (!found) continue;
    found->document.source_path = source.path;
    update_source(database, store.meta().store, *found);
  }
  // No chunk has changed, so snapshots stay as they are.
  transaction.commit();
}

}  // namespace casemate
