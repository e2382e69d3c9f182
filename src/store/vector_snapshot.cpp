#include "casemate/store/vector_snapshot.h"

#include <algorithm>

#include "catalog.h"

namespace casemate {

ChunkSet::ChunkSet(std::vector<ChunkRange> ranges) {
  std::erase_if(ranges, [](const ChunkRange& range) { return range.begin >= range.end; });
  std::sort(ranges.begin(), ranges.end(), [](const ChunkRange& a, const ChunkRange& b) { return a.begin < b.begin; });
  for (const ChunkRange& range : ranges) {
    if (!ranges_.empty() && range.begin <= ranges_.back().end) {
      ranges_.back().end = std::max(ranges_.back().end, range.end);
    } else {
      ranges_.push_back(range);
    }
  }
}

bool ChunkSet::contains(ChunkId id) const noexcept {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), id,
                                      [](ChunkId value, const ChunkRange& range) { return value < range.begin; });
  return after != ranges_.begin() && id < std::prev(after)->end;
}

bool ChunkSet::intersects(ChunkRange range) const noexcept {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [&](const ChunkRange& part) { return part.begin < range.end && range.begin < part.end; });
}

std::size_t ChunkSet::size() const noexcept {
  std::size_t count = 0;
  for (const ChunkRange& range : ranges_) count += static_cast<std::size_t>(range.end - range.begin);
  return count;
}

std::vector<ChunkId> ChunkSet::ids() const {
  std::vector<ChunkId> ids;
  ids.reserve(size());
  for (const ChunkRange& range : ranges_) {
    for (ChunkId id = range.begin; id < range.end; ++id) ids.push_back(id);
  }
  return ids;
}

VectorSnapshot::VectorSnapshot(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
VectorSnapshot::~VectorSnapshot() = default;

std::span<const VectorBlock> VectorSnapshot::blocks() const noexcept { return data_->blocks; }
std::size_t VectorSnapshot::live_chunks() const noexcept { return data_->live_chunks; }
std::int64_t VectorSnapshot::generation() const noexcept { return data_->generation; }
std::span<const DamagedSegment> VectorSnapshot::damaged() const noexcept { return data_->damaged; }

Status VectorSnapshot::read_rows(std::size_t index, std::size_t first, std::size_t count, std::span<float> out) const {
  const bool there = index < data_->blocks.size() && first <= data_->blocks[index].chunks &&
                     count <= data_->blocks[index].chunks - first;
  if (!there) return Error{ErrorCode::kInvalidArgument, "these chunks are not in the snapshot"};
  const SegmentData& segment = *data_->segments[index];
  if (out.size() != count * segment.header.row_floats())
    return Error{ErrorCode::kInvalidArgument, "the output must have room for exactly the rows"};
  return segment.read(first, count, out);
}

std::vector<std::uint8_t> VectorSnapshot::mask(std::size_t index, const ChunkSet& allowed) const {
  const VectorBlock& block = data_->blocks[index];
  std::vector<std::uint8_t> mask(block.live.begin(), block.live.end());
  auto range = allowed.ranges().begin();
  const auto end = allowed.ranges().end();
  for (std::size_t i = 0; i < mask.size(); ++i) {
    const ChunkId id = block.chunk_ids[i];
    while (range != end && range->end <= id) ++range;
    if (range == end || range->begin > id) mask[i] = 0;
  }
  return mask;
}

}  // namespace casemate
