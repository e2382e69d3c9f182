#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/file_system.h"
#include "casemate/core/hash.h"
#include "casemate/store/document.h"

namespace casemate {

/// 16 random bytes made with a store: a segment of another store is told by them.
using StoreId = std::array<std::uint8_t, 16>;

/// What a segment file says of itself (docs/format.md has the bytes).
struct SegmentHeader {
  StoreId store{};
  Digest encoder{};
  Digest tenant{};  ///< BLAKE2b-256 of the tenant's name
  std::uint64_t id = 0;
  std::uint64_t chunks = 0;
  std::uint32_t rows_per_chunk = 1;
  std::uint32_t dimension = 0;
  std::string kind;

  [[nodiscard]] std::uint64_t row_floats() const { return std::uint64_t{rows_per_chunk} * dimension; }
  friend bool operator==(const SegmentHeader&, const SegmentHeader&) = default;
};

/// "segments/000001.seg", relative to the store.
[[nodiscard]] std::string segment_name(std::uint64_t id);
/// The id in a name such as "000001.seg" or "000001.seg.tmp"; 0 where the name is not ours.
[[nodiscard]] std::uint64_t segment_id_of(std::string_view file_name, bool& temporary);

/// A verified segment: its ids in memory, its rows in memory or, by position, in its file. Immutable once loaded.
struct SegmentData {
  struct Free {
    void operator()(void* block) const noexcept { std::free(block); }
  };
  SegmentHeader header;
  std::vector<ChunkId> chunk_ids;
  std::unique_ptr<float[], Free> memory;  ///< 64-byte aligned; null where the rows stay in the file
  std::size_t floats = 0;                 ///< of `memory`
  std::unique_ptr<ReadableFile> file;     ///< open, so that the rows outlive the file's name; null with `memory`
  std::vector<std::uint64_t> checks;      ///< with `file`: fast_check of each chunk's rows as they were verified
  std::string path;

  [[nodiscard]] bool resident() const { return file == nullptr; }
  [[nodiscard]] std::span<const float> rows() const { return {memory.get(), floats}; }
  /// Rows of chunks [first, first + count) to `out`. Error: Corrupt where the file changed since; Io.
  [[nodiscard]] Status read(std::size_t first, std::size_t count, std::span<float> out) const;
};

/// Which rows `load_segment` keeps in memory.
enum class KeepRows {
  kAll,
  kSmall,  ///< those of segments under a mebibyte, which are not worth an open file
};

/// Writes one segment: header, then all ids, then all rows, then `finish`. Throws Failure. Until `finish` returns
/// the file has a temporary name; an abandoned writer removes it.
class SegmentWriter {
 public:
  SegmentWriter(FileSystem& files, const std::string& store, const SegmentHeader& header);
  ~SegmentWriter();
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;
  void append_ids(std::span<const ChunkId> ids);
  void append_rows(std::span<const float> rows);
  /// Syncs the file, gives it its name and syncs the folder. The checksum.
  [[nodiscard]] Digest finish();

 private:
  void append(std::string_view data);
  void flush();
  FileSystem& files_;
  std::string folder_;
  std::string path_;
  std::unique_ptr<WritableFile> file_;
  Hasher hasher_;
  std::string buffer_;
  std::uint64_t written_ = 0;
  std::uint64_t ids_end_;
  std::uint64_t rows_end_;
  bool finished_ = false;
};

/// Loads and verifies a segment that must have exactly `expected` as its header and `checksum` at its end.
/// Error: Corrupt or Mismatch with the file's name and what is wrong; NotFound; Io.
[[nodiscard]] Result<std::shared_ptr<const SegmentData>> load_segment(FileSystem& files, const std::string& store,
                                                                      const SegmentHeader& expected,
                                                                      const Digest& checksum,
                                                                      KeepRows rows = KeepRows::kAll);
/// The same segment with its rows in memory, read from the file that is open. Error: as SegmentData::read; Limit.
[[nodiscard]] Result<std::shared_ptr<const SegmentData>> with_rows_in_memory(const SegmentData& segment);

}  // namespace casemate
