// tests/defend/pool.h
#pragma once

#include <string>
#include <vector>

#include "casemate/defend/retrieval_defence.h"

namespace casemate::test {

/// A candidate for tests: ids count from 1, scores descend with the place.
inline PassageCandidate candidate(ChunkId chunk, double score, std::vector<float> embedding, std::string text = "") {
  PassageCandidate out;
  out.chunk = chunk;
  out.document = "d" + std::to_string(chunk);
  out.score = score;
  out.embedding = std::move(embedding);
  out.text = UntrustedText(std::move(text));
  return out;
}

inline std::vector<ChunkId> kept_ids(const DefendedRanking& ranking, std::span<const PassageCandidate> candidates) {
  std::vector<ChunkId> out;
  for (const DefendedPassage& passage : ranking.passages) out.push_back(candidates[passage.candidate].chunk);
  return out;
}

inline const Verdict& verdict_about(const DefendedRanking& ranking, ChunkId chunk) {
  for (const Verdict& verdict : ranking.verdicts) {
    if (verdict.chunk == chunk) return verdict;
  }
  static const Verdict none;
  return none;
}

}  // namespace casemate::test
