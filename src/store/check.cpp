#include "check.h"

#include <algorithm>
#include <map>

#include "chunk_rows.h"
#include "document_rows.h"
#include "failure.h"

namespace casemate {
namespace {

constexpr std::size_t kMaxProblems = 1000;  ///< enough to see that a backup is needed
constexpr int kPage = 500;

class Check {
 public:
  Check(StoreState& store, Database& database) : store_(store), database_(database) {}

  CheckReport run() {
    // Each part goes as far as it can; damage in one must not hide what another finds.
    part([&] { structure(); });
    part([&] { rows(); });
    part([&] { words(); });
    part([&] { segments(); });
    return std::move(report_);
  }

 private:
  template <typename Body>
  void part(Body&& body) {
    const auto done = guarded(body);
    if (!done) problem(kDatabaseFile, done.error().message);
  }
  void problem(const std::string& file, const std::string& what) {
    if (report_.problems.size() < kMaxProblems) report_.problems.push_back({file, what});
  }

  void structure() {
    Statement statement(database_, "PRAGMA integrity_check(100)");
    while (statement.step()) {
      const std::string line = statement.bytes(0);
      if (line != "ok") problem(kDatabaseFile, UntrustedText(line).for_log(500));
    }
  }

  void rows() {
    for (const TenantRow& tenant : list_tenants(database_)) {
      std::string after;
      while (true) {
        const auto page = list_documents(database_, store_.meta().store, tenant, after, kPage);
        if (page.empty()) break;
        for (const DocumentRow& row : page) document(row);
        after = page.back().document.id;
      }
    }
    Statement orphans(
        database_, "SELECT count(*) FROM chunk c WHERE NOT EXISTS(SELECT 1 FROM document d WHERE d.row = c.document)");
    if (orphans.step() && orphans.integer(0) != 0)
      problem(kDatabaseFile, std::to_string(orphans.integer(0)) + " chunks belong to no document");
  }

  void document(const DocumentRow& row) {
    ++report_.documents;
    const StoredDocument& document = row.document;
    const std::string name = "document \"" + UntrustedText(document.id).for_log(80) + "\"";
    std::int64_t found = 0;
    const ChunkRange range{document.first_chunk, document.first_chunk + document.chunk_count};
    visit_chunks(database_, store_.meta().store, range, [&](const ChunkRow& chunk) {
      ++report_.chunks;
      if (!chunk.intact)
        problem(kDatabaseFile, name + ": the text of chunk " + std::to_string(chunk.chunk.id) + " is damaged");
      if (chunk.document_row == row.row && chunk.chunk.ordinal == chunk.chunk.id - range.begin) ++found;
    });
    if (found != document.chunk_count)
      problem(kDatabaseFile, name + ": " + std::to_string(found) + " of " + std::to_string(document.chunk_count) +
                                 " chunks are there");
    chunks_[row.tenant].push_back(range);
  }

  void words() {
    for (const TenantRow& tenant : list_tenants(database_)) {
      Statement statement(database_, "SELECT id FROM " + fts_table(tenant.id) + "_docsize ORDER BY id");
      std::vector<ChunkId> indexed;
      while (statement.step()) indexed.push_back(statement.integer(0));
      if (indexed != ChunkSet(chunks_[tenant.id]).ids())
        problem(kDatabaseFile, "the full-text index of tenant \"" + UntrustedText(tenant.name).for_log(80) +
                                   "\" does not list exactly its chunks");
    }
  }

  void segments() {
    const auto catalog = read_catalog(database_, store_.meta().store, store_.meta().encoder_hash);
    std::map<std::int64_t, std::vector<ChunkId>> vectors;
    for (const SegmentRecord& record : catalog->segments) {
      ++report_.segments;
      // Read anew from the disk, whatever is in memory.
      const auto data = load_segment(store_.files(), store_.path(), record.header, record.checksum, KeepRows::kSmall);
      if (!data) {
        problem(segment_name(record.header.id), data.error().message);
        continue;
      }
      if (record.header.kind != kPassageVectors) continue;
      const auto live = live_chunks((*data)->chunk_ids, catalog->tombstones_of(record.tenant));
      for (std::size_t i = 0; i < live.size(); ++i) {
        if (live[i] != 0) vectors[record.tenant].push_back((*data)->chunk_ids[i]);
      }
    }
    for (const TenantRow& tenant : list_tenants(database_)) {
      std::vector<ChunkId>& ids = vectors[tenant.id];
      std::sort(ids.begin(), ids.end());
      if (ids != ChunkSet(chunks_[tenant.id]).ids())
        problem(kDatabaseFile, "the vectors of tenant \"" + UntrustedText(tenant.name).for_log(80) +
                                   "\" are not exactly those of its chunks");
    }
  }

  StoreState& store_;
  Database& database_;
  CheckReport report_;
  std::map<std::int64_t, std::vector<ChunkRange>> chunks_;
};

}  // namespace

CheckReport check(StoreState& store) {
  const auto connection = store.reader();
  const Transaction transaction(*connection, Transaction::Kind::kRead);
  return Check(store, *connection).run();
}

}  // namespace casemate
