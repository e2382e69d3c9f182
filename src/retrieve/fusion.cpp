#include <algorithm>
#include <map>

#include "casemate/retrieve/retriever.h"

namespace casemate {

std::vector<Candidate> fuse_by_reciprocal_rank(std::span<const DenseHit> dense, std::span<const Bm25Hit> bm25,
                                               int fusion_k) {
  std::map<ChunkId, Candidate> by_chunk;
  for (std::size_t i = 0; i < dense.size(); ++i) {
    Candidate& candidate = by_chunk[dense[i].chunk];
    candidate.dense_score = dense[i].score;
    candidate.dense_rank = static_cast<int>(i) + 1;
  }
  for (std::size_t i = 0; i < bm25.size(); ++i) {
    Candidate& candidate = by_chunk[bm25[i].chunk];
    candidate.bm25_score = bm25[i].score;
    candidate.bm25_rank = static_cast<int>(i) + 1;
  }
  std::vector<Candidate> fused;
  fused.reserve(by_chunk.size());
  for (auto& [chunk, candidate] : by_chunk) {
    candidate.chunk = chunk;
    for (const std::optional<int>& rank : {candidate.dense_rank, candidate.bm25_rank}) {
      if (rank) candidate.score += 1.0 / static_cast<double>(fusion_k + *rank);
    }
    fused.push_back(candidate);
  }
  std::stable_sort(fused.begin(), fused.end(),
                   [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  return fused;
}

}  // namespace casemate
