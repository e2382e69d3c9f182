#include "defend/copy_finder.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "casemate/text/content_difference.h"
#include "casemate/text/edit_distance.h"
#include "defend/candidate_vectors.h"

namespace casemate {
namespace {

constexpr int kNearest = 4;           // sealed passages by embedding
constexpr std::size_t kSimilar = 16;  // and by sketch
constexpr double kSharedWords = 0.5;  // of the words of either, for copies by embedding
// A text this short may lose every shingle to one other word.
constexpr std::size_t kShortText = 2 * kShingleWords;

/// A text taken apart.
struct Parts {
  std::vector<std::string> words;
  ShingleSet set;
};

Parts take_apart(const UntrustedText& text, const ShingleKey& key) {
  Parts parts;
  parts.words = comparison_words(comparison_text(text.bytes()));
  parts.set = shingles(parts.words, key);
  return parts;
}

}  // namespace

std::optional<ChunkId> CopyFinder::visible_passage(SealedTexts::Index text) const {
  for (const ChunkId chunk : set_.texts.chunks(text)) {
    if (visible_.contains(chunk)) return chunk;
  }
  return std::nullopt;
}

Result<std::vector<std::vector<DenseHit>>> CopyFinder::nearest(std::span<const PassageCandidate> candidates,
                                                               std::vector<std::vector<float>>& rows) const {
  rows.resize(candidates.size());
  std::vector<std::vector<DenseHit>> out(candidates.size());
  std::vector<float> queries;
  std::vector<std::size_t> asked;
  std::size_t d = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (set_.chunks.contains(candidates[i].chunk)) continue;
    rows[i] = candidates[i].embedding;
    if (rows[i].empty()) {
      auto row = set_.index->row(candidates[i].chunk);
      if (!row) return row.error();
      rows[i] = *std::move(row);
    }
    if (rows[i].empty()) continue;
    if (d == 0) d = rows[i].size();
    if (rows[i].size() != d || !all_finite(rows[i])) {
      return Error{ErrorCode::kInvalidArgument, "passage " + std::to_string(candidates[i].chunk) + " of " +
                                                    UntrustedText(candidates[i].document).for_log() +
                                                    " has an embedding that is not finite or of another dimension"};
    }
    queries.insert(queries.end(), rows[i].begin(), rows[i].end());
    asked.push_back(i);
  }
  if (asked.empty() || visible_.empty()) return out;
  auto hits = set_.index->search(queries, d, kNearest, &visible_, pool_);
  if (!hits) return hits.error();
  for (std::size_t i = 0; i < asked.size(); ++i) out[asked[i]] = std::move((*hits)[i]);
  return out;
}

Result<Comparison> CopyFinder::compare_one(const PassageCandidate& candidate, std::span<const float> embedding,
                                           std::span<const DenseHit> hits) const {
  Comparison out;
  const PassageMark mark = mark_text(candidate.text.bytes(), set_.key);
  std::set<ChunkId> near;
  if (const auto equal = set_.texts.equal(mark.text)) {
    if (const auto passage = visible_passage(*equal)) near.insert(*passage);
  }
  const bool is_equal = !near.empty();
  if (!is_equal) {
    for (const SealedTexts::Index text : set_.texts.similar(mark, kSimilar)) {
      if (const auto passage = visible_passage(text)) near.insert(*passage);
    }
  }
  for (const DenseHit& hit : hits) near.insert(hit.chunk);
  const std::vector<ChunkId> ids(near.begin(), near.end());
  const auto chunks = store_.chunks(tenant_, ids);
  if (!chunks) return chunks.error();
  const Parts own = take_apart(candidate.text, set_.key);
  double best = -1;
  const StoredChunk* original = nullptr;
  std::size_t original_words = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!(*chunks)[i]) continue;  // deleted meanwhile
    const StoredChunk& chunk = *(*chunks)[i];
    double similarity = -2;
    if (!embedding.empty()) {
      const auto row = set_.index->row(ids[i]);
      if (!row) return row.error();
      if (row->size() == embedding.size()) similarity = cosine(embedding, *row);
      if (similarity > out.nearest_cosine.value_or(-2)) out.nearest_cosine = similarity;
    }
    if (is_equal) {
      if (comparison_text(chunk.text.bytes()) != comparison_text(candidate.text.bytes())) continue;
      original = &chunk;
      out.jaccard = out.contained = best = 1;
      continue;
    }
    const Parts other = take_apart(chunk.text, set_.key);
    const ShingleOverlap overlap = shingle_overlap(own.set, other.set);
    bool copy = overlap.jaccard >= options_.near_copy_jaccard || overlap.contained >= options_.near_copy_contained;
    if (!copy && similarity >= options_.near_copy_cosine && !own.words.empty()) {
      const bool overlapping = overlap.jaccard > 0 || std::min(own.words.size(), other.words.size()) < kShortText;
      copy = overlapping && jaccard(own.words, other.words) >= kSharedWords;
    }
    const double likeness = std::max(overlap.jaccard, overlap.contained) + (copy ? 2 : 0);
    if (likeness <= best) continue;
    best = likeness;
    out.jaccard = overlap.jaccard;
    out.contained = overlap.contained;
    original = copy ? &chunk : nullptr;
    original_words = other.words.size();
  }
  if (out.nearest_cosine) out.p_value = set_.p_value(*out.nearest_cosine);
  if (original == nullptr) return out;
  out.original = original->id;
  out.original_document = original->document_id;
  out.likeness = Likeness::kCopy;
  if (is_equal) return out;
  // A piece of the original lacks most of it without contradicting it.
  const bool is_part = 5 * own.words.size() < 4 * original_words;
  const auto differences = content_differences(original->text.bytes(), candidate.text.bytes(), is_part);
  if (differences.empty()) return out;
  out.likeness = Likeness::kConflict;
  out.differences = describe(differences);
  return out;
}

Result<std::vector<Comparison>> CopyFinder::compare(std::span<const PassageCandidate> candidates) const {
  std::vector<std::vector<float>> rows;
  const auto hits = nearest(candidates, rows);
  if (!hits) return hits.error();
  std::vector<Result<Comparison>> each(candidates.size(), Comparison{});
  pool_.parallel_for(candidates.size(), [&](std::size_t i, int) {
    if (!set_.chunks.contains(candidates[i].chunk)) {
      each[i] = compare_one(candidates[i], rows[i], (*hits)[i]);
    } else {
      Comparison sealed;
      sealed.likeness = Likeness::kSealed;
      each[i] = sealed;
    }
  });
  std::vector<Comparison> out;
  for (auto& result : each) {
    if (!result) return result.error();
    out.push_back(*std::move(result));
  }
  return out;
}

}  // namespace casemate
