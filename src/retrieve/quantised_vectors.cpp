#include "casemate/retrieve/quantised_vectors.h"

#include <algorithm>

#include "retrieve/bound_kernels.h"
#include "retrieve/quantised_block.h"

namespace casemate {
namespace {

std::vector<std::uint16_t> group_bits(std::span<const std::uint8_t> served) {
  std::vector<std::uint16_t> bits((served.size() + kernels::kGroupChunks - 1) / kernels::kGroupChunks, 0);
  for (std::size_t i = 0; i < served.size(); ++i) {
    if (served[i] == 0) continue;
    std::uint16_t& group = bits[i / kernels::kGroupChunks];
    group = static_cast<std::uint16_t>(group | 1U << i % kernels::kGroupChunks);
  }
  return bits;
}

}  // namespace

QuantisedVectors::~QuantisedVectors() = default;

Result<std::shared_ptr<const QuantisedVectors>> QuantisedVectors::create(std::shared_ptr<const VectorSnapshot> snapshot,
                                                                         const QuantiseOptions& options,
                                                                         const ThreadPool& pool,
                                                                         const QuantisedVectors* previous) {
  std::shared_ptr<QuantisedVectors> made(
      new QuantisedVectors(std::move(snapshot)));  // private constructor; the pointer owns it at once
  made->options_ = options;
  const std::span<const VectorBlock> blocks = made->snapshot_->blocks();
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const VectorBlock& block = blocks[b];
    if (block.rows_per_chunk < 1 || static_cast<std::size_t>(block.rows_per_chunk) > kernels::kMaxRows)
      return Error{ErrorCode::kInvalidArgument, block.file + ": has more than 64 rows a chunk"};
    if (b > 0 && (block.rows_per_chunk != blocks[0].rows_per_chunk || block.dimension != blocks[0].dimension))
      return Error{ErrorCode::kInvalidArgument, block.file + ": its vectors have another shape than those before"};
    std::shared_ptr<const QuantisedBlock> known;
    if (previous != nullptr && previous->options_.sum_norms == options.sum_norms) {
      // A segment's name is never used again for another content.
      const auto same = std::find_if(previous->blocks_.begin(), previous->blocks_.end(),
                                     [&](const auto& other) { return other->file == block.file; });
      if (same != previous->blocks_.end() && (*same)->chunks == block.chunks &&
          (*same)->rows == static_cast<std::size_t>(block.rows_per_chunk) &&
          (*same)->dimension == static_cast<std::size_t>(block.dimension))
        known = *same;
    }
    if (!known) {
      auto quantised = QuantisedBlock::create(*made->snapshot_, b, options, pool);
      if (!quantised) return quantised.error();
      known = *std::move(quantised);
    }
    made->blocks_.push_back(std::move(known));
    made->live_.push_back(group_bits(block.live));
  }
  if (!blocks.empty()) {
    made->rows_per_chunk_ = blocks[0].rows_per_chunk;
    made->dimension_ = blocks[0].dimension;
  }
  return std::shared_ptr<const QuantisedVectors>(std::move(made));
}

std::size_t QuantisedVectors::resident_bytes() const noexcept {
  std::size_t bytes = 0;
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    bytes += blocks_[b]->resident_bytes() + live_[b].size() * sizeof(std::uint16_t);
  return bytes;
}

std::vector<std::uint16_t> QuantisedVectors::served(std::size_t index, const ChunkSet* allowed) const {
  return allowed == nullptr ? live_[index] : group_bits(snapshot_->mask(index, *allowed));
}

}  // namespace casemate
