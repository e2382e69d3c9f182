#include "defend/vote_scan.h"

#include "defend/recipe_index.h"

namespace casemate {
namespace {

Verdict verdict_of_hit(const RagPartHit& hit, std::uint64_t lists, bool drawn) {
  Verdict verdict;
  verdict.chunk = hit.chunk;
  verdict.reason = drawn ? "drawn at random from the union of the lists, as no passage is in all of them"
                         : "in " + std::to_string(hit.votes) + " of " + std::to_string(lists) + " lists";
  verdict.score = hit.votes;
  verdict.measures = {
      {"votes", static_cast<double>(hit.votes)}, {"lists", static_cast<double>(lists)}, {"mean_score", hit.mean_score}};
  for (std::size_t i = 0; i < hit.fragment_scores.size(); ++i)
    verdict.measures.emplace_back("fragment_" + std::to_string(i + 1), static_cast<double>(hit.fragment_scores[i]));
  return verdict;
}

}  // namespace

Result<std::shared_ptr<const RagPartIndex>> VoteScan::index_of(const Store& store, const std::string& tenant,
                                                               const ThreadPool& pool) const {
  auto snapshot = store.snapshot(tenant, recipe_->kind());
  if (!snapshot) return snapshot.error();
  const std::lock_guard lock(mutex_);
  const auto kept = indexes_.find(tenant);
  const RagPartIndex* previous = kept == indexes_.end() ? nullptr : kept->second.get();
  if (previous != nullptr && previous->snapshot().generation() == (*snapshot)->generation()) return kept->second;
  if (Status complete = require_complete(store, tenant, **snapshot, recipe_->kind(), name_); !complete)
    return complete.error();
  RagPartIndexOptions options;
  options.renormalise = renormalise_;
  auto made = RagPartIndex::create(*std::move(snapshot), options, pool, previous);
  if (!made) return made.error();
  std::shared_ptr<const RagPartIndex> shared = *std::move(made);
  // A tenant without vectors is not remembered: names that nobody has must not fill the memory.
  if (!shared->snapshot().blocks().empty()) indexes_.insert_or_assign(tenant, shared);
  return shared;
}

Result<ScanOutcome> VoteScan::scan(const Store& store, const DefenceQuery& query, const RagPartSearchOptions& options,
                                   const ChunkSet* allowed, const ThreadPool& pool) const {
  const auto index = index_of(store, query.tenant, pool);
  if (!index) return index.error();
  const VectorSnapshot& vectors = (*index)->snapshot();
  ScanOutcome out;
  out.candidates.query_embedding = query.embedding;
  out.notes = damage_notes(vectors);
  if (vectors.live_chunks() == 0) return out;
  const auto rankings = (*index)->search(query.embedding, query.embedding.size(), options, allowed, pool);
  if (!rankings) return rankings.error();
  const RagPartRanking& ranking = (*rankings)[0];
  if (ranking.drawn) out.notes.emplace_back("no passage is in every list: the results are drawn from their union");
  for (const RagPartHit& hit : ranking.hits) {
    Candidate candidate;
    candidate.chunk = hit.chunk;
    candidate.score = hit.mean_score;
    out.candidates.items.push_back(candidate);
    out.verdicts.push_back(verdict_of_hit(hit, ranking.lists, ranking.drawn));
  }
  return out;
}

Result<RagPartRanking> VoteScan::ranking(const Store& store, const DefenceQuery& query,
                                         const RagPartSearchOptions& options, const ChunkSet* allowed,
                                         const ThreadPool& pool) const {
  const auto index = index_of(store, query.tenant, pool);
  if (!index) return index.error();
  if ((*index)->snapshot().live_chunks() == 0) return RagPartRanking();
  auto rankings = (*index)->search(query.embedding, query.embedding.size(), options, allowed, pool);
  if (!rankings) return rankings.error();
  return std::move((*rankings)[0]);
}

}  // namespace casemate
