#include "segment_file.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "failure.h"

namespace casemate {
namespace {

static_assert(std::endian::native == std::endian::little,
              "segment files are little-endian and read without conversion");

constexpr std::string_view kMagic = "CSMTSEG\n";
constexpr std::uint32_t kSegmentVersion = 1;
constexpr std::size_t kHeaderBytes = 192;
constexpr std::size_t kKindBytes = 32;
constexpr std::uint64_t kAlignment = 64;
constexpr std::size_t kBufferBytes = std::size_t{1} << 20U;
constexpr std::uint64_t kSmallBytes = std::uint64_t{1} << 20U;  ///< rows of fewer bytes are always kept in memory

// Byte offsets of the header's fields.
constexpr std::size_t kVersionAt = 8, kHeaderSizeAt = 12, kStoreAt = 16, kEncoderAt = 32, kTenantAt = 64, kIdAt = 96,
                      kChunksAt = 104, kRowsPerChunkAt = 112, kDimensionAt = 116, kKindAt = 120;

std::uint64_t rounded_up(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Bytes of ids with padding, and of rows.
std::uint64_t id_bytes(const SegmentHeader& header) { return rounded_up(header.chunks * sizeof(ChunkId)); }
std::uint64_t row_bytes(const SegmentHeader& header) { return header.chunks * header.row_floats() * sizeof(float); }

template <typename T>
void put(std::string& out, std::size_t at, const T& value) {
  std::memcpy(out.data() + at, &value, sizeof value);
}
template <typename T>
T get(std::string_view in, std::size_t at) {
  T value;
  std::memcpy(&value, in.data() + at, sizeof value);
  return value;
}

std::string encode(const SegmentHeader& header) {
  std::string out(kHeaderBytes, '\0');
  std::copy(kMagic.begin(), kMagic.end(), out.begin());
  put(out, kVersionAt, kSegmentVersion);
  put(out, kHeaderSizeAt, static_cast<std::uint32_t>(kHeaderBytes));
  put(out, kStoreAt, header.store);
  put(out, kEncoderAt, header.encoder);
  put(out, kTenantAt, header.tenant);
  put(out, kIdAt, header.id);
  put(out, kChunksAt, header.chunks);
  put(out, kRowsPerChunkAt, header.rows_per_chunk);
  put(out, kDimensionAt, header.dimension);
  std::copy_n(header.kind.begin(), std::min(header.kind.size(), kKindBytes - 1), out.begin() + kKindAt);
  return out;
}

Error damaged(ErrorCode code, const std::string& path, const std::string& what) {
  return Error{code, path + ": " + what};
}

/// Says what differs between the header found and the one expected; the checksum is verified apart.
Status check_header(std::string_view found, const SegmentHeader& expected, const std::string& path) {
  if (found.substr(0, kMagic.size()) != kMagic)
    return damaged(ErrorCode::kCorrupt, path, "not a segment file (wrong magic bytes)");
  const auto version = get<std::uint32_t>(found, kVersionAt);
  if (version != kSegmentVersion) {
    return damaged(ErrorCode::kCorrupt, path,
                   "segment format " + std::to_string(version) + ", expected " + std::to_string(kSegmentVersion));
  }
  if (get<StoreId>(found, kStoreAt) != expected.store)
    return damaged(ErrorCode::kMismatch, path, "a segment of another store");
  if (get<Digest>(found, kEncoderAt) != expected.encoder)
    return damaged(ErrorCode::kMismatch, path, "a segment made by another encoder");
  if (get<Digest>(found, kTenantAt) != expected.tenant)
    return damaged(ErrorCode::kMismatch, path, "a segment of another tenant");
  if (found != encode(expected))
    return damaged(ErrorCode::kCorrupt, path, "the header does not match the segment registry");
  return {};
}

/// Tells whether rows are still those that were verified, at the speed of memory. It finds damage; it is no defence
/// against one who may write to the store, who needs no trick.
std::uint64_t fast_check(std::span<const float> rows) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;
  std::uint64_t lanes[4] = {1, 2, 3, 4};
  const char* bytes = reinterpret_cast<const char*>(rows.data());
  std::size_t left = rows.size_bytes();
  while (left > 0) {
    std::uint64_t words[4] = {};
    const std::size_t taken = std::min(left, sizeof words);
    std::memcpy(words, bytes, taken);
    // Multiplying by an odd number after adding loses nothing: another word gives another lane.
    for (std::size_t i = 0; i < 4; ++i) lanes[i] = std::rotl((lanes[i] ^ words[i]) * kOdd, 29);
    bytes += taken;
    left -= taken;
  }
  std::uint64_t all = rows.size();
  for (const std::uint64_t lane : lanes) all = std::rotl((all ^ lane) * kOdd, 31);
  return all;
}

Status allocate_rows(SegmentData& data) {
  data.floats = static_cast<std::size_t>(data.header.chunks * data.header.row_floats());
  const std::size_t bytes = data.floats * sizeof(float);
  data.memory.reset(
      static_cast<float*>(std::aligned_alloc(kAlignment, std::max<std::size_t>(kAlignment, rounded_up(bytes)))));
  if (data.memory) return {};
  return Error{ErrorCode::kLimit, data.path + ": not enough memory for " + std::to_string(bytes) + " bytes of vectors"};
}

/// Reads all rows into memory and hashes them.
Status read_rows(const ReadableFile& file, std::uint64_t at, SegmentData& data, Hasher& hasher) {
  const std::size_t bytes = data.floats * sizeof(float);
  if (const Status done = file.read(at, bytes, data.memory.get()); !done) return done;
  hasher.update(std::string_view(reinterpret_cast<const char*>(data.memory.get()), bytes));
  return {};
}

/// Reads all rows once to hash them and to remember a check of each chunk's.
Status hash_rows(const ReadableFile& file, std::uint64_t at, SegmentData& data, Hasher& hasher) {
  const auto width = static_cast<std::size_t>(data.header.row_floats());
  const auto chunks = static_cast<std::size_t>(data.header.chunks);
  const std::size_t at_once = std::max<std::size_t>(1, kBufferBytes / (width * sizeof(float)));
  data.checks.reserve(chunks);
  std::vector<float> buffer(std::min(at_once, chunks) * width);
  for (std::size_t first = 0; first < chunks; first += at_once) {
    const std::span<float> piece(buffer.data(), std::min(at_once, chunks - first) * width);
    if (const Status done = file.read(at + first * width * sizeof(float), piece.size_bytes(), piece.data()); !done)
      return done;
    hasher.update(std::string_view(reinterpret_cast<const char*>(piece.data()), piece.size_bytes()));
    for (std::size_t i = 0; i < piece.size(); i += width) data.checks.push_back(fast_check(piece.subspan(i, width)));
  }
  return {};
}

}  // namespace

std::string segment_name(std::uint64_t id) {
  std::string digits = std::to_string(id);
  if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
  return "segments/" + digits + ".seg";
}

std::uint64_t segment_id_of(std::string_view file_name, bool& temporary) {
  temporary = file_name.ends_with(".tmp");
  if (temporary) file_name.remove_suffix(4);
  if (!file_name.ends_with(".seg")) return 0;
  file_name.remove_suffix(4);
  if (file_name.size() < 6 || file_name.size() > 18) return 0;
  std::uint64_t id = 0;
  for (const char c : file_name) {
    if (c < '0' || c > '9') return 0;
    id = id * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return id;
}

SegmentWriter::SegmentWriter(FileSystem& files, const std::string& store, const SegmentHeader& header)
    : files_(files),
      folder_(join_path(store, "segments")),
      path_(join_path(store, segment_name(header.id))),
      hasher_(Hasher::Kind::kBlake2b),
      ids_end_(kHeaderBytes + header.chunks * sizeof(ChunkId)),
      rows_end_(kHeaderBytes + id_bytes(header) + row_bytes(header)) {
  file_ = must(files_.create(path_ + ".tmp"));
  append(encode(header));
}

SegmentWriter::~SegmentWriter() {
  if (finished_) return;
  file_.reset();
  // Best effort: what stays is removed when a writer opens the store.
  if (const Status removed = files_.remove(path_ + ".tmp"); !removed) return;
}

void SegmentWriter::append(std::string_view data) {
  written_ += data.size();
  hasher_.update(data);
  buffer_ += data;
  if (buffer_.size() >= kBufferBytes) flush();
}
void SegmentWriter::flush() {
  must(file_->append(buffer_));
  buffer_.clear();
}
void SegmentWriter::append_ids(std::span<const ChunkId> ids) {
  append(std::string_view(reinterpret_cast<const char*>(ids.data()), ids.size_bytes()));
  if (written_ == ids_end_) append(std::string(static_cast<std::size_t>(rounded_up(written_) - written_), '\0'));
}
void SegmentWriter::append_rows(std::span<const float> rows) {
  append(std::string_view(reinterpret_cast<const char*>(rows.data()), rows.size_bytes()));
}

Digest SegmentWriter::finish() {
  if (written_ != rows_end_) std::abort();  // a programmer's error: header and payload disagree
  const Digest digest = hasher_.finish();
  buffer_.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  flush();
  must(file_->sync());
  must(file_->close());
  must(files_.rename(path_ + ".tmp", path_));
  finished_ = true;
  must(files_.sync_directory(folder_));
  return digest;
}

Result<std::shared_ptr<const SegmentData>> load_segment(FileSystem& files, const std::string& store,
                                                        const SegmentHeader& expected, const Digest& checksum,
                                                        KeepRows rows) {
  const std::string path = join_path(store, segment_name(expected.id));
  auto file = files.open(path);
  if (!file) return file.error();
  const std::uint64_t rows_at = kHeaderBytes + id_bytes(expected);
  const std::uint64_t checksum_at = rows_at + row_bytes(expected);
  // The size is checked first, so that no number in a damaged file can make us allocate.
  std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(kHeaderBytes, (*file)->size())), '\0');
  if (const Status read = (*file)->read(0, head.size(), head.data()); !read) return read.error();
  if (head.size() == kHeaderBytes) {
    if (const Status same = check_header(head, expected, path); !same) return same.error();
  }
  // Products of numbers that are too large wrap around, so they are held against the size by division.
  const std::uint64_t size = (*file)->size();
  const std::uint64_t row_floats = expected.row_floats();
  if (expected.chunks > size / sizeof(ChunkId) ||
      (row_floats > 0 && expected.chunks > size / sizeof(float) / row_floats)) {
    return damaged(ErrorCode::kCorrupt, path,
                   std::to_string(size) + " bytes are too few for " + std::to_string(expected.chunks) + " passages");
  }
  if (size != checksum_at + checksum.size()) {
    return damaged(ErrorCode::kCorrupt, path,
                   std::to_string(size) + " bytes, expected " + std::to_string(checksum_at + checksum.size()));
  }
  auto data = std::make_shared<SegmentData>();
  data->header = expected;
  data->path = path;
  const bool in_file = rows == KeepRows::kSmall && row_bytes(expected) >= kSmallBytes;
  if (!in_file) {
    if (const Status allocated = allocate_rows(*data); !allocated) return allocated.error();
  }
  std::string ids(static_cast<std::size_t>(rows_at - kHeaderBytes), '\0');
  Digest stored{};
  Hasher hasher(Hasher::Kind::kBlake2b);
  hasher.update(head);
  Status read = (*file)->read(kHeaderBytes, ids.size(), ids.data());
  hasher.update(ids);
  if (read) read = in_file ? hash_rows(**file, rows_at, *data, hasher) : read_rows(**file, rows_at, *data, hasher);
  if (read) read = (*file)->read(checksum_at, stored.size(), stored.data());
  if (!read) return read.error();
  const Digest found = hasher.finish();
  if (found != stored) return damaged(ErrorCode::kCorrupt, path, "the checksum does not match: the file was damaged");
  if (found != checksum)
    return damaged(ErrorCode::kCorrupt, path, "not the file that vault.db names (another checksum)");
  data->chunk_ids.resize(static_cast<std::size_t>(expected.chunks));
  if (!ids.empty()) std::memcpy(data->chunk_ids.data(), ids.data(), data->chunk_ids.size() * sizeof(ChunkId));
  if (in_file) data->file = *std::move(file);
  return std::shared_ptr<const SegmentData>(std::move(data));
}

Status SegmentData::read(std::size_t first, std::size_t count, std::span<float> out) const {
  const auto width = static_cast<std::size_t>(header.row_floats());
  if (resident()) {
    const auto from = rows().subspan(first * width, count * width);
    std::copy(from.begin(), from.end(), out.begin());
    return {};
  }
  const std::uint64_t at = kHeaderBytes + id_bytes(header) + std::uint64_t{first} * width * sizeof(float);
  if (const Status done = file->read(at, count * width * sizeof(float), out.data()); !done) return done;
  for (std::size_t i = 0; i < count; ++i) {
    if (fast_check(out.subspan(i * width, width)) != checks[first + i])
      return damaged(ErrorCode::kCorrupt, path, "the file was changed after it was opened");
  }
  return {};
}

Result<std::shared_ptr<const SegmentData>> with_rows_in_memory(const SegmentData& segment) {
  auto data = std::make_shared<SegmentData>();
  data->header = segment.header;
  data->chunk_ids = segment.chunk_ids;
  data->path = segment.path;
  if (const Status allocated = allocate_rows(*data); !allocated) return allocated.error();
  const std::span<float> all(data->memory.get(), data->floats);
  if (const Status done = segment.read(0, data->chunk_ids.size(), all); !done) return done.error();
  return std::shared_ptr<const SegmentData>(std::move(data));
}

}  // namespace casemate
