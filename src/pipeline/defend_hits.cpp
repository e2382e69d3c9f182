#include "pipeline/defend_hits.h"

#include <algorithm>
#include <map>
#include <set>

#include "pipeline/search.h"

namespace casemate {
namespace {

/// The passages that a defence added, in its order; nothing for one that cannot be read any more.
Result<std::vector<std::optional<Hit>>> load_added(const Store& store, std::string_view tenant,
                                                   std::span<const PassageCandidate> added, StageEvidence& stage) {
  std::vector<std::optional<Hit>> out(added.size());
  if (added.empty()) return out;
  Candidates wanted;
  std::map<ChunkId, std::size_t> places;
  for (const PassageCandidate& passage : added) {
    places.emplace(passage.chunk, places.size());
    Candidate candidate;
    candidate.chunk = passage.chunk;
    candidate.score = passage.score;
    candidate.dense_score = static_cast<float>(passage.score);
    wanted.items.push_back(candidate);
  }
  // The defence gave its verdict on each already, and one that cannot be read gets its own from here.
  auto loaded = load_hits(store, tenant, wanted, nullptr, stage);
  if (!loaded) return loaded.error();
  for (Hit& hit : loaded->hits) out[places.at(hit.id)] = std::move(hit);
  return out;
}

}  // namespace

std::vector<int> stage_sizes(std::span<const std::unique_ptr<RetrievalDefence>> defences, int top_k) {
  std::vector<int> sizes(defences.size() + 1, top_k);
  for (std::size_t i = defences.size(); i-- > 0;)
    sizes[i] = std::max(sizes[i + 1], defences[i]->pool_size(sizes[i + 1]));
  return sizes;
}

Result<std::vector<Hit>> defend_hits(const RetrievalDefence& defence, const Store& store, const DefenceQuery& query,
                                     std::vector<Hit> hits, std::span<const PassageCandidate> candidates, int top_k,
                                     StageEvidence& stage, std::vector<PassageCandidate>& added, std::stop_token stop) {
  stage.stage = std::string(defence.name());
  stage.parameters = defence.parameters();
  stage.parameters.emplace_back("top_k", std::to_string(top_k));
  stage.passages_in = hits.size();
  auto ranking = defence.rank(query, candidates, top_k, std::move(stop));
  if (!ranking) return Error{ranking.error().code, stage.stage + ": " + ranking.error().message};
  stage.verdicts = std::move(ranking->verdicts);
  stage.notes = std::move(ranking->notes);
  added = std::move(ranking->added);
  auto further = load_added(store, query.tenant, added, stage);
  if (!further) return further.error();
  std::set<ChunkId> judged;
  for (const Verdict& verdict : stage.verdicts) judged.insert(verdict.chunk);
  std::vector<Hit> kept;
  for (DefendedPassage& passage : ranking->passages) {
    const bool given = passage.candidate < hits.size();
    if (!given && !(*further)[passage.candidate - hits.size()]) continue;
    Hit hit = given ? std::move(hits[passage.candidate]) : *std::move((*further)[passage.candidate - hits.size()]);
    hit.rank = static_cast<int>(kept.size()) + 1;
    hit.candidate.score = passage.score;
    if (passage.text_out) {
      hit.text = *std::move(passage.text_out);
      hit.sanitised = true;
    }
    kept.push_back(std::move(hit));
  }
  for (const PassageCandidate& candidate : candidates) {
    if (judged.contains(candidate.chunk)) continue;
    Verdict verdict;
    verdict.chunk = candidate.chunk;
    verdict.document = candidate.document;
    verdict.decision = Decision::kDropped;
    verdict.reason = "not looked at: the places were filled by better-ranked passages";
    stage.verdicts.push_back(std::move(verdict));
  }
  stage.passages_out = kept.size();
  return kept;
}

}  // namespace casemate
