#include "compact.h"

#include <algorithm>

#include "document_rows.h"
#include "failure.h"
#include "sqlite_statement.h"

namespace casemate {
namespace {

constexpr std::uint64_t kTargetBytes = std::uint64_t{128} << 20U;  ///< new segments are about this large

/// A segment that is to be rewritten, and which of its chunks stay.
struct Source {
  const SegmentRecord* record = nullptr;
  std::vector<std::uint8_t> live;
  std::uint64_t live_count = 0;
};

/// Where a chunk's rows lie before they are joined.
struct Place {
  ChunkId id = 0;
  std::size_t source = 0;
  std::size_t row = 0;
};

class Compaction {
 public:
  Compaction(StoreState& store, StoreState::Writing& writing)
      : store_(store), writing_(writing), database_(writing.database()), written_(store) {}

  CompactReport run() {
    Transaction transaction(database_, Transaction::Kind::kWrite);
    const auto catalog = read_catalog(database_, store_.meta().store, store_.meta().encoder_hash);
    report_.segments_before = static_cast<std::int64_t>(catalog->segments.size());
    report_.segments_after = report_.segments_before;
    const SegmentRecord* previous = nullptr;
    for (const SegmentRecord& record : catalog->segments) {
      if (previous != nullptr && !same_shape(*previous, record)) flush();
      consider(record, catalog->tombstones_of(record.tenant));
      previous = &record;
    }
    flush();
    database_.execute("DELETE FROM tombstone");
    for (const TenantRow& tenant : list_tenants(database_)) {
      const std::string table = fts_table(tenant.id);
      database_.execute("INSERT INTO " + table + "(" + table + ") VALUES('optimize')");
    }
    written_.keep();
    writing_.commit(transaction);
    remove_old_files();
    return report_;
  }

 private:
  static bool same_shape(const SegmentRecord& a, const SegmentRecord& b) {
    return a.tenant == b.tenant && a.header.kind == b.header.kind &&
           a.header.rows_per_chunk == b.header.rows_per_chunk && a.header.dimension == b.header.dimension;
  }
  static std::uint64_t bytes_of(const SegmentHeader& header, std::uint64_t chunks) {
    return chunks * header.row_floats() * sizeof(float);
  }

  void consider(const SegmentRecord& record, const ChunkSet& tombstones) {
    const auto data = store_.segments().load(record, KeepRows::kSmall, false);
    if (!data) {
      if (has_live_chunks(record)) {
        throw Failure{
            Error{data.error().code,
                  data.error().message +
                      " (it still holds live chunks: index their documents again or restore a backup, then compact)"}};
      }
      forget(record);
      return;
    }
    Source source{&record, live_chunks((*data)->chunk_ids, tombstones), 0};
    source.live_count = static_cast<std::uint64_t>(std::count(source.live.begin(), source.live.end(), 1));
    const bool has_dead = source.live_count < source.live.size();
    if (!has_dead && bytes_of(record.header, source.live_count) >= kTargetBytes / 2) {
      flush();
      return;
    }
    if (record.header.kind == kPassageVectors)
      report_.chunks_dropped += static_cast<std::int64_t>(source.live.size() - source.live_count);
    gathered_ += bytes_of(record.header, source.live_count);
    sources_.push_back(std::move(source));
    if (gathered_ >= kTargetBytes) flush();
  }

  bool has_live_chunks(const SegmentRecord& record) {
    Statement statement(database_,
                        "SELECT 1 FROM chunk c JOIN document d ON d.row = c.document WHERE c.id >= ?1 AND c.id <= ?2 "
                        "AND d.tenant = ?3 LIMIT 1");
    statement.bind(1, record.first_chunk).bind(2, record.last_chunk).bind(3, record.tenant);
    return statement.step();
  }

  void forget(const SegmentRecord& record) {
    Statement(database_, "DELETE FROM segment WHERE id = ?1")
        .bind(1, static_cast<std::int64_t>(record.header.id))
        .run();
    old_.push_back(record.header.id);
    --report_.segments_after;
  }

  /// Joins the gathered segments into one.
  void flush() {
    const std::vector<Source> sources = std::move(sources_);
    sources_.clear();
    gathered_ = 0;
    const bool one_clean = sources.size() == 1 && sources[0].live_count == sources[0].live.size();
    if (sources.empty() || one_clean) return;
    std::uint64_t chunks = 0;
    for (const Source& source : sources) {
      forget(*source.record);
      chunks += source.live_count;
    }
    if (chunks > 0) write(sources, chunks);
  }

  void write(const std::vector<Source>& sources, std::uint64_t chunks) {
    SegmentHeader header = sources[0].record->header;
    header.id = writing_.next_segment_id();
    header.chunks = chunks;
    SegmentWriter writer(store_.files(), store_.path(), header);
    // Sources may interleave, so rows are joined in order of their chunks.
    std::vector<Place> places;
    places.reserve(static_cast<std::size_t>(chunks));
    std::vector<std::shared_ptr<const SegmentData>> data;
    for (const Source& source : sources) {
      data.push_back(must(store_.segments().load(*source.record, KeepRows::kSmall, false)));
      for (std::size_t i = 0; i < source.live.size(); ++i) {
        if (source.live[i] != 0) places.push_back({data.back()->chunk_ids[i], data.size() - 1, i});
      }
    }
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.id < b.id; });
    std::vector<ChunkId> ids;
    ids.reserve(places.size());
    for (const Place& place : places) ids.push_back(place.id);
    writer.append_ids(ids);
    std::vector<float> rows(static_cast<std::size_t>(header.row_floats()));
    for (const Place& place : places) {
      must(data[place.source]->read(place.row, 1, rows));
      writer.append_rows(rows);
    }
    written_.add(header.id);
    const Digest checksum = writer.finish();
    register_segment(database_, header, sources[0].record->tenant, ids.front(), ids.back(), checksum);
    ++report_.segments_after;
  }

  void remove_old_files() {
    // Already unnamed: what cannot be removed now is removed when a writer opens the store.
    for (const std::uint64_t id : old_) (void)store_.files().remove(store_.file(segment_name(id))).ok();
    if (!old_.empty()) (void)store_.files().sync_directory(store_.file(kSegmentsFolder)).ok();
  }

  StoreState& store_;
  StoreState::Writing& writing_;
  Database& database_;
  WrittenSegments written_;
  CompactReport report_;
  std::vector<Source> sources_;
  std::uint64_t gathered_ = 0;
  std::vector<std::uint64_t> old_;
};

}  // namespace

CompactReport compact(StoreState& store) {
  StoreState::Writing writing(store);
  const CompactReport report = Compaction(store, writing).run();
  writing.database().execute("VACUUM");
  writing.database().execute("PRAGMA wal_checkpoint(TRUNCATE)");
  return report;
}

}  // namespace casemate
