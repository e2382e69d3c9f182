#include <algorithm>
#include <map>

#include "pipeline/pipeline_state.h"

namespace casemate {
namespace {

/// Passages that ranked below this without defences are told as such, without a number.
constexpr int kExplainDepth = 100;

}  // namespace

Status Pipeline::State::explain(const QueryOptions& options, RetrievalMode mode, int top_k,
                                SearchResult& result) const {
  const int depth = std::max(kExplainDepth, top_k);
  auto found = retrievers.at(mode)->retrieve(options.tenant, std::span(&result.query, 1), depth, options.filter);
  if (!found) return found.error();
  const std::vector<Candidate>& undefended = (*found)[0].items;
  std::map<ChunkId, int> final_rank;
  for (const Hit& hit : result.hits) final_rank.emplace(hit.id, hit.rank);
  StageEvidence stage;
  stage.stage = "undefended";
  stage.parameters = {{"mode", std::string(retrieval_mode_name(mode))}, {"depth", std::to_string(depth)}};
  stage.passages_in = undefended.size();
  stage.notes.emplace_back("for comparison only: where passages stand without defences");
  std::vector<ChunkId> ids;
  for (const Candidate& candidate : undefended) ids.push_back(candidate.chunk);
  const auto chunks = parts.store->chunks(options.tenant, ids);
  if (!chunks) return chunks.error();
  for (std::size_t i = 0; i < undefended.size(); ++i) {
    const auto at = final_rank.find(undefended[i].chunk);
    const bool shown = i < static_cast<std::size_t>(top_k) || at != final_rank.end();
    if (!shown) continue;
    Verdict verdict;
    verdict.chunk = undefended[i].chunk;
    if ((*chunks)[i]) verdict.document = (*chunks)[i]->document_id;
    verdict.decision = at == final_rank.end()                  ? Decision::kDropped
                       : at->second == static_cast<int>(i) + 1 ? Decision::kKept
                                                               : Decision::kMoved;
    verdict.reason = at == final_rank.end() ? "not among the defended results"
                                            : "rank " + std::to_string(at->second) + " with defences";
    verdict.score = undefended[i].score;
    verdict.measures = {{"undefended_rank", static_cast<double>(i + 1)}};
    stage.verdicts.push_back(std::move(verdict));
    ++stage.passages_out;
  }
  for (Hit& hit : result.hits) {
    for (std::size_t i = 0; i < undefended.size() && mode == RetrievalMode::kDense; ++i) {
      if (undefended[i].chunk != hit.id) continue;
      hit.candidate.dense_rank = static_cast<int>(i) + 1;
      hit.candidate.dense_score = static_cast<float>(undefended[i].score);
    }
  }
  result.evidence.stages.push_back(std::move(stage));
  return {};
}

}  // namespace casemate
