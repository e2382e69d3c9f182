#include "catalog.h"

#include <algorithm>

#include "failure.h"
#include "sqlite_statement.h"

namespace casemate {
namespace {

constexpr std::uint64_t kMaxDimension = 65536, kMaxRowsPerChunk = 1024, kMaxChunks = std::uint64_t{1} << 40U;

SegmentRecord read_record(const Database& database, const Statement& statement, const StoreId& store,
                          const Digest& encoder) {
  SegmentRecord record;
  record.header.store = store;
  record.header.encoder = encoder;
  record.header.id = static_cast<std::uint64_t>(statement.integer(0));
  record.tenant = statement.integer(1);
  record.header.kind = statement.bytes(2);
  const auto chunks = static_cast<std::uint64_t>(statement.integer(3));
  const auto rows_per_chunk = static_cast<std::uint64_t>(statement.integer(4));
  const auto dimension = static_cast<std::uint64_t>(statement.integer(5));
  record.first_chunk = statement.integer(6);
  record.last_chunk = statement.integer(7);
  record.checksum = statement.digest(8);
  record.tenant_name = statement.bytes(9);
  record.header.tenant = blake2b(record.tenant_name);
  if (chunks == 0 || chunks > kMaxChunks || rows_per_chunk == 0 || rows_per_chunk > kMaxRowsPerChunk ||
      dimension == 0 || dimension > kMaxDimension) {
    throw Failure{Error{ErrorCode::kCorrupt,
                        database.path() + ": the registry entry of " + segment_name(record.header.id) + " is damaged"}};
  }
  record.header.chunks = chunks;
  record.header.rows_per_chunk = static_cast<std::uint32_t>(rows_per_chunk);
  record.header.dimension = static_cast<std::uint32_t>(dimension);
  return record;
}

Result<std::shared_ptr<const SegmentData>> load_and_compare(FileSystem& files, const std::string& store,
                                                            const SegmentRecord& record, KeepRows rows) {
  auto loaded = load_segment(files, store, record.header, record.checksum, rows);
  if (!loaded) return loaded;
  const std::vector<ChunkId>& ids = (*loaded)->chunk_ids;
  const std::string path = join_path(store, segment_name(record.header.id));
  if (ids.front() != record.first_chunk || ids.back() != record.last_chunk) {
    return Error{ErrorCode::kCorrupt, path + ": its chunks are not those of the segment registry"};
  }
  if (std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) != ids.end()) {
    return Error{ErrorCode::kCorrupt, path + ": its chunk ids do not ascend"};
  }
  return loaded;
}

/// Beyond these, rows stay in memory: a process may have few files open.
constexpr std::size_t kMaxOpenFiles = 256;

/// The file itself is bad; any other error may pass.
bool is_damage(const Error& error) { return error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kMismatch; }

}  // namespace

ChunkRange checked_range(const Database& database, std::int64_t first, std::int64_t count) {
  constexpr std::int64_t kMax = std::int64_t{1} << 62U;
  if (first < 0 || count < 0 || first > kMax || count > kMax - first) {
    throw Failure{Error{ErrorCode::kCorrupt, database.path() + ": a range of chunks is damaged"}};
  }
  return {first, first + count};
}

std::vector<std::uint8_t> live_chunks(const std::vector<ChunkId>& ids, const ChunkSet& tombstones) {
  std::vector<std::uint8_t> live(ids.size(), 1);
  // Both lists ascend, so one walk does it.
  auto range = tombstones.ranges().begin();
  const auto end = tombstones.ranges().end();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    while (range != end && range->end <= ids[i]) ++range;
    if (range != end && range->begin <= ids[i]) live[i] = 0;
  }
  return live;
}

const ChunkSet& Catalog::tombstones_of(std::int64_t tenant) const {
  static const ChunkSet kNone;
  const auto found = tombstones.find(tenant);
  return found == tombstones.end() ? kNone : found->second;
}

std::shared_ptr<const Catalog> read_catalog(Database& database, const StoreId& store, const Digest& encoder) {
  auto catalog = std::make_shared<Catalog>();
  Statement generation(database, "SELECT value FROM meta WHERE key = 'generation'");
  if (generation.step()) catalog->generation = generation.integer(0);
  Statement segments(
      database,
      "SELECT s.id, s.tenant, s.kind, s.chunks, s.rows_per_chunk, s.dimension, s.first_chunk, s.last_chunk, s.checksum,"
      " coalesce(t.name, '') FROM segment s LEFT JOIN tenant t ON t.id = s.tenant ORDER BY s.tenant, s.kind, "
      "s.first_chunk, s.id");
  while (segments.step()) catalog->segments.push_back(read_record(database, segments, store, encoder));
  Statement tombstones(database, "SELECT tenant, first_chunk, chunk_count FROM tombstone");
  std::map<std::int64_t, std::vector<ChunkRange>> ranges;
  while (tombstones.step()) {
    ranges[tombstones.integer(0)].push_back(checked_range(database, tombstones.integer(1), tombstones.integer(2)));
  }
  for (auto& [tenant, list] : ranges) catalog->tombstones.emplace(tenant, ChunkSet(std::move(list)));
  return catalog;
}

Result<std::shared_ptr<const SegmentData>> SegmentCache::load(const SegmentRecord& record, KeepRows rows, bool keep) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find(record.header.id);
  if (found != entries_.end() && found->second.checksum == record.checksum) {
    if (!found->second.data) return found->second.error;
    // The registry entry may have changed by damage while the checksum stayed.
    const SegmentData& known = *found->second.data;
    if (known.header == record.header && (rows == KeepRows::kSmall || known.resident())) return found->second.data;
  }
  const bool known = found != entries_.end() && found->second.checksum == record.checksum &&
                     found->second.data->header == record.header;
  auto loaded = known ? with_rows_in_memory(*found->second.data)
                      : load_and_compare(files_, store_, record, open_files() < kMaxOpenFiles ? rows : KeepRows::kAll);
  if (loaded && keep) entries_[record.header.id] = {record.checksum, *loaded, {}};
  if (!loaded && is_damage(loaded.error())) entries_[record.header.id] = {record.checksum, nullptr, loaded.error()};
  return loaded;
}

std::size_t SegmentCache::open_files() const {
  return static_cast<std::size_t>(std::count_if(entries_.begin(), entries_.end(), [](const auto& entry) {
    return entry.second.data && !entry.second.data->resident();
  }));
}

std::optional<Error> SegmentCache::damage(const SegmentRecord& record) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find(record.header.id);
  if (found == entries_.end() || found->second.checksum != record.checksum || found->second.data) return std::nullopt;
  return found->second.error;
}

void SegmentCache::mark_missing(const Catalog& catalog) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const SegmentRecord& record : catalog.segments) {
    const std::string path = join_path(store_, segment_name(record.header.id));
    const Result<FileInfo> info = files_.info(path);
    if (info || info.error().code != ErrorCode::kNotFound) continue;
    entries_[record.header.id] = {record.checksum, nullptr, Error{ErrorCode::kCorrupt, path + ": the file is missing"}};
  }
}

void SegmentCache::keep_only(const Catalog& catalog) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::map<std::uint64_t, Entry> kept;
  for (const SegmentRecord& record : catalog.segments) {
    if (auto node = entries_.extract(record.header.id); !node.empty()) kept.insert(std::move(node));
  }
  entries_ = std::move(kept);
}

DamagedSegment describe_damage(const SegmentRecord& record, const Error& error) {
  return {segment_name(record.header.id),
          error.message,
          record.tenant_name,
          record.header.kind,
          record.first_chunk,
          record.last_chunk};
}

Result<std::shared_ptr<const VectorSnapshot>> make_snapshot(const Catalog& catalog, SegmentCache& cache,
                                                            std::string_view tenant, std::string_view kind,
                                                            VectorAccess access) {
  const KeepRows rows = access == VectorAccess::kMemory ? KeepRows::kAll : KeepRows::kSmall;
  auto data = std::make_shared<VectorSnapshot::Data>();
  data->generation = catalog.generation;
  for (const SegmentRecord& record : catalog.segments) {
    if (record.tenant_name != tenant || record.header.kind != kind) continue;
    auto segment = cache.load(record, rows, true);
    if (!segment) {
      if (!is_damage(segment.error())) return segment.error();
      data->damaged.push_back(describe_damage(record, segment.error()));
      continue;
    }
    data->segments.push_back(std::move(*segment));
    data->live.push_back(live_chunks(data->segments.back()->chunk_ids, catalog.tombstones_of(record.tenant)));
  }
  // Spans are taken last: the vectors above no longer move.
  for (std::size_t i = 0; i < data->segments.size(); ++i) {
    const SegmentData& segment = *data->segments[i];
    const SegmentHeader& header = segment.header;
    data->blocks.push_back({segment_name(header.id), segment.chunk_ids.size(), static_cast<int>(header.rows_per_chunk),
                            static_cast<int>(header.dimension), segment.rows(), segment.chunk_ids, data->live[i]});
    data->live_chunks += static_cast<std::size_t>(std::count(data->live[i].begin(), data->live[i].end(), 1));
  }
  return std::shared_ptr<const VectorSnapshot>(std::make_shared<VectorSnapshot>(std::move(data)));
}

}  // namespace casemate
