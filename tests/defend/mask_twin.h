// tests/defend/mask_twin.h
#pragma once

#include <string>
#include <vector>

#include "casemate/defend/ragmask.h"

namespace casemate::test {

/// RAGMask for one passage, written from the paper's steps: every perturbed text is embedded by itself, nothing is
/// batched, kept or screened.
struct TwinJudgement {
  double similarity = 0;
  std::vector<double> perturbed;
  std::vector<std::size_t> suspicious;
  double sanitised_similarity = 0;
};
TwinJudgement mask_twin(const RagMaskOptions& options, const Encoder& encoder, const std::vector<float>& query,
                        const std::string& text);

/// Candidates with their embeddings, in order of similarity to `query`, ids from 1 in the order of `texts`.
std::vector<PassageCandidate> ranked_candidates(const Encoder& encoder, const std::vector<float>& query,
                                                const std::vector<std::string>& texts);

std::vector<float> embed_query(const Encoder& encoder, const std::string& text);

}  // namespace casemate::test
