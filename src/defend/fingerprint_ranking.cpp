#include "defend/fingerprint_ranking.h"

#include <algorithm>

#include "defend/candidate_vectors.h"

namespace casemate {

Status FingerprintRanking::see_filter() {
  if (query_.filter.lets_everything_through()) return {};
  auto allowed = store_.select(query_.tenant, query_.filter);
  if (!allowed) return allowed.error();
  allowed_ = *std::move(allowed);
  visible_ = intersection(set_.chunks, *allowed_);
  return {};
}

Result<DefendedRanking> FingerprintRanking::run(std::span<const PassageCandidate> candidates, std::size_t pool,
                                                std::size_t top_k) {
  given_ = candidates.size();
  if (Status seen = see_filter(); !seen) return seen.error();
  const auto examined = candidates.first(std::min(pool, candidates.size()));
  for (const PassageCandidate& candidate : examined) examined_.insert(candidate.chunk);
  if (Status judged = judge(examined, 0); !judged) return judged.error();
  if (Status extended = extend(pool, top_k); !extended) return extended.error();
  rank_survivors(top_k);
  tell_what_is_not_covered();
  return std::move(out_);
}

Status FingerprintRanking::extend(std::size_t pool, std::size_t top_k) {
  if (!query_.may_extend || query_.embedding.empty()) return {};
  std::size_t depth = examined_.size();
  const std::size_t most = std::max(depth, static_cast<std::size_t>(options_.max_examined));
  bool more = depth == pool;  // a shorter list of candidates was all there is
  while (more && survivors_.size() < pool && depth < most) {
    depth = std::min(2 * depth, most);
    const auto found = search(depth, allowed_.get());
    if (!found) return found.error();
    more = found->size() == depth;
    if (Status done = take(*found); !done) return done;
  }
  if (!more || survivors_.size() >= top_k) return {};
  out_.notes.push_back("of the first " + std::to_string(depth) + " passages only " + std::to_string(survivors_.size()) +
                       " are no copies and not quarantined: below them only sealed ones were looked for");
  const auto sealed = search(survivors_.size() + top_k, &visible());
  if (!sealed) return sealed.error();
  return take(*sealed);
}

Result<std::vector<DenseHit>> FingerprintRanking::search(std::size_t depth, const ChunkSet* allowed) const {
  auto hits = set_.index->search(query_.embedding, query_.embedding.size(), static_cast<int>(depth), allowed, pool_);
  if (!hits) return hits.error();
  return std::move((*hits)[0]);
}

Status FingerprintRanking::take(std::span<const DenseHit> hits) {
  std::vector<ChunkId> fresh;
  std::vector<double> scores;
  for (const DenseHit& hit : hits) {
    if (!examined_.insert(hit.chunk).second) continue;
    fresh.push_back(hit.chunk);
    scores.push_back(static_cast<double>(hit.score));
  }
  const auto chunks = store_.chunks(query_.tenant, fresh);
  if (!chunks) return chunks.error();
  const std::size_t first = out_.added.size();
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    if (!(*chunks)[i]) continue;  // deleted meanwhile, or damaged: it cannot be shown
    PassageCandidate passage;
    passage.chunk = fresh[i];
    passage.document = (*chunks)[i]->document_id;
    passage.text = (*chunks)[i]->text;
    auto row = set_.index->row(fresh[i]);
    if (!row) return row.error();
    passage.embedding = *std::move(row);
    passage.score = scores[i];
    if (const auto document = store_.document(query_.tenant, passage.document)) {
      passage.trusted = document->trusted;
      passage.content_hash = document->content_hash;
    }
    out_.added.push_back(std::move(passage));
  }
  return judge(std::span<const PassageCandidate>(out_.added).subspan(first), given_ + first);
}

Status FingerprintRanking::judge(std::span<const PassageCandidate> passages, std::size_t first) {
  if (stop_.stop_requested()) return cancelled("fingerprint");
  const CopyFinder finder(options_, store_, query_.tenant, set_, visible(), pool_);
  const auto compared = finder.compare(passages);
  if (!compared) return compared.error();
  for (std::size_t i = 0; i < passages.size(); ++i) {
    Survivor survivor{first + i, passages[i].score, out_.verdicts.size()};
    if (judge_one(passages[i], (*compared)[i], survivor.score)) survivors_.push_back(survivor);
  }
  return {};
}

bool FingerprintRanking::judge_one(const PassageCandidate& passage, const Comparison& found, double& score) {
  Verdict& verdict = out_.verdicts.emplace_back(verdict_of(passage, Decision::kKept, "sealed"));
  if (found.likeness == Likeness::kSealed) return true;
  verdict.measures = {{"jaccard", found.jaccard}, {"contained", found.contained}};
  if (found.nearest_cosine) verdict.measures.emplace_back("cosine", *found.nearest_cosine);
  if (found.p_value) verdict.measures.emplace_back("p_value", *found.p_value);
  if (found.likeness == Likeness::kOther) {
    verdict.reason = "no copy of sealed text";
    return !found.p_value || judge_unlike(*found.p_value, verdict, score);
  }
  const std::string original = "sealed document " + UntrustedText(found.original_document).for_log();
  verdict.decision = Decision::kDropped;
  verdict.copy_of = found.original;
  verdict.score = found.jaccard;
  verdict.threshold = options_.near_copy_jaccard;
  verdict.reason =
      found.likeness == Likeness::kCopy
          ? "copy of " + original + ", which stands for it"
          : "conflict with " + original + ", to which it yields: " + UntrustedText(found.differences).for_log(400);
  return false;
}

bool FingerprintRanking::judge_unlike(double p_value, Verdict& verdict, double& score) const {
  verdict.score = p_value;
  verdict.threshold = options_.unlike_p;
  if (p_value >= options_.unlike_p) return true;
  verdict.reason = "unlike any sealed text";
  if (options_.unlike == UnlikePolicy::kPenalty) {
    score -= options_.penalty;
    verdict.reason += ": " + parameter_text(options_.penalty) + " taken off its score";
  }
  if (options_.unlike != UnlikePolicy::kQuarantine) return true;
  verdict.reason += ": quarantined";
  verdict.decision = Decision::kDropped;
  return false;
}

void FingerprintRanking::rank_survivors(std::size_t top_k) {
  const std::vector<Survivor> before = survivors_;
  if (options_.unlike == UnlikePolicy::kPenalty) {
    std::stable_sort(survivors_.begin(), survivors_.end(),
                     [](const Survivor& a, const Survivor& b) { return a.score > b.score; });
  }
  for (std::size_t i = 0; i < survivors_.size(); ++i) {
    Verdict& verdict = out_.verdicts[survivors_[i].verdict];
    if (i < top_k) {
      out_.passages.push_back({survivors_[i].candidate, survivors_[i].score});
      if (survivors_[i].candidate != before[i].candidate) verdict.decision = Decision::kMoved;
    } else {
      verdict.decision = Decision::kDropped;
      verdict.reason += "; ranks below the first " + std::to_string(top_k);
    }
  }
}

void FingerprintRanking::tell_what_is_not_covered() {
  constexpr std::size_t kNamed = 5;
  std::string names;
  std::size_t count = 0;
  const auto tell = [&](const std::string& id) {
    if (++count <= kNamed) names += (names.empty() ? "" : ", ") + UntrustedText(id).for_log();
  };
  for (const std::string& id : set_.check.changed) {
    if (allowed_) {
      const auto document = store_.document(query_.tenant, id);
      if (!document || !allowed_->contains(document->first_chunk)) continue;
    }
    tell(id);
  }
  if (!allowed_) {
    for (const std::string& id : set_.check.missing) tell(id);
  }
  if (count == 0) return;
  if (count > kNamed) names += ", ...";
  out_.notes.push_back("the seal is stale: " + std::to_string(count) + " documents changed since version " +
                       std::to_string(set_.seal.version) + " was made and are not covered (" + names +
                       "): seal again (casemate seal)");
}

}  // namespace casemate
