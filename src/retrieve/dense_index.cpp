#include "casemate/retrieve/dense_index.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "retrieve/dense_kernels.h"
#include "retrieve/float_scan.h"
#include "retrieve/quantised_scan.h"
#include "retrieve/query_loop.h"
#include "retrieve/top_k.h"

namespace casemate {
namespace {

/// Scores candidates, the most promising first, until no other can be among the best `top_k`.
Result<std::vector<DenseHit>> best_of(const VectorSnapshot& snapshot, std::span<const float> query, std::size_t top_k,
                                      const std::vector<ScanCandidate>& candidates) {
  TopK best(top_k);
  std::vector<float> row(query.size());
  for (const ScanCandidate& candidate : candidates) {
    if (candidate.upper < best.floor()) break;
    if (const Status read = snapshot.read_rows(candidate.block, candidate.position, 1, row); !read) return read.error();
    float score = 0;
    kernels::row_scores(query.data(), row.data(), 1, query.size(), &score);
    best.add({snapshot.blocks()[candidate.block].chunk_ids[candidate.position], ordered(score)});
  }
  return std::move(best).sorted();
}

}  // namespace

Result<std::unique_ptr<DenseIndex>> DenseIndex::create(std::shared_ptr<const VectorSnapshot> snapshot,
                                                       const ThreadPool& pool, DenseScan scan,
                                                       const DenseIndex* previous) {
  std::unique_ptr<DenseIndex> index(
      new DenseIndex(std::move(snapshot)));  // private constructor; the pointer owns it at once
  for (const VectorBlock& block : index->snapshot_->blocks()) {
    if (block.rows_per_chunk != 1)
      return Error{ErrorCode::kInvalidArgument, block.file + ": has several rows a chunk, a dense index needs one"};
  }
  if (scan == DenseScan::kFloat) {
    auto norms = largest_norms(*index->snapshot_, pool);
    if (!norms) return norms.error();
    index->largest_norms_ = *std::move(norms);
    return index;
  }
  auto codes =
      QuantisedVectors::create(index->snapshot_, {}, pool, previous != nullptr ? previous->codes_.get() : nullptr);
  if (!codes) return codes.error();
  index->codes_ = *std::move(codes);
  return index;
}

std::optional<DenseIndex::Place> DenseIndex::place_of(ChunkId chunk) const {
  const std::span<const VectorBlock> blocks = snapshot_->blocks();
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const VectorBlock& block = blocks[b];
    if (block.chunk_ids.empty() || chunk < block.chunk_ids.front() || chunk > block.chunk_ids.back()) continue;
    const auto it = std::lower_bound(block.chunk_ids.begin(), block.chunk_ids.end(), chunk);
    if (*it != chunk) continue;
    const auto at = static_cast<std::size_t>(it - block.chunk_ids.begin());
    if (block.live[at] == 0) return std::nullopt;
    return Place{b, at};
  }
  return std::nullopt;
}

Result<std::vector<float>> DenseIndex::row(ChunkId chunk) const {
  const auto place = place_of(chunk);
  if (!place) return std::vector<float>();
  std::vector<float> row(static_cast<std::size_t>(snapshot_->blocks()[place->block].dimension));
  if (const Status read = snapshot_->read_rows(place->block, place->position, 1, row); !read) return read.error();
  return row;
}

Status DenseIndex::check_queries(std::span<const float> queries, std::size_t dimension, int top_k) const {
  const auto bad = [](const std::string& what) { return Error{ErrorCode::kInvalidArgument, what}; };
  if (top_k < 0) return bad("top_k must be at least 0");
  if (dimension == 0 || queries.size() % dimension != 0) return bad("queries are not a whole number of vectors");
  for (const VectorBlock& block : snapshot_->blocks()) {
    if (static_cast<std::size_t>(block.dimension) != dimension) {
      return bad("a query has dimension " + std::to_string(dimension) + ", the store's vectors have " +
                 std::to_string(block.dimension));
    }
  }
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (!std::isfinite(queries[i])) return bad("query " + std::to_string(i / dimension) + " is not finite");
  }
  return {};
}

Result<std::vector<std::vector<DenseHit>>> DenseIndex::search(std::span<const float> queries, std::size_t dimension,
                                                              int top_k, const ChunkSet* allowed,
                                                              const ThreadPool& pool) const {
  if (Status checked = check_queries(queries, dimension, top_k); !checked) return checked.error();
  const std::size_t count = queries.size() / dimension;
  const auto wanted = std::min(static_cast<std::size_t>(top_k), snapshot_->live_chunks());
  if (count == 0 || wanted == 0) return std::vector<std::vector<DenseHit>>(count);
  if (codes_) return search_codes(queries, wanted, allowed, pool);
  return float_scan(*snapshot_, largest_norms_, queries, dimension, wanted, allowed, pool);
}

Result<std::vector<DenseHit>> DenseIndex::rescore(std::span<const float> query, std::span<const ChunkId> chunks,
                                                  int top_k) const {
  if (Status checked = check_queries(query, query.size(), top_k); !checked) return checked.error();
  std::vector<ScanCandidate> candidates;
  candidates.reserve(chunks.size());
  for (const ChunkId chunk : chunks) {
    const auto place = place_of(chunk);
    if (!place) continue;
    candidates.push_back({std::numeric_limits<float>::infinity(), static_cast<std::uint32_t>(place->block),
                          static_cast<std::uint32_t>(place->position)});
  }
  return best_of(*snapshot_, query, static_cast<std::size_t>(top_k), candidates);
}

Result<std::vector<std::vector<DenseHit>>> DenseIndex::search_codes(std::span<const float> queries, std::size_t top_k,
                                                                    const ChunkSet* allowed,
                                                                    const ThreadPool& pool) const {
  std::vector<std::vector<std::uint16_t>> served;
  for (std::size_t b = 0; b < codes_->blocks().size(); ++b) served.push_back(codes_->served(b, allowed));
  ScanOptions options;
  options.wanted = top_k;
  const auto candidates = quantised_scan(*codes_, queries, options, served, pool);
  const auto d = static_cast<std::size_t>(codes_->dimension());
  return for_each_query(candidates.size(), pool, [&](std::size_t q) {
    return best_of(*snapshot_, queries.subspan(q * d, d), top_k, candidates[q]);
  });
}

}  // namespace casemate
