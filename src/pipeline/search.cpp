#include "pipeline/search.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace casemate {
namespace {

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

}  // namespace

std::string describe_filter(const DocumentFilter& filter) {
  if (filter.lets_everything_through()) return "none";
  std::vector<std::string> parts;
  if (filter.any_of) parts.push_back("any of [" + join(*filter.any_of) + "]");
  if (!filter.all_of.empty()) parts.push_back("all of [" + join(filter.all_of) + "]");
  if (!filter.none_of.empty()) parts.push_back("none of [" + join(filter.none_of) + "]");
  if (filter.trusted) parts.emplace_back(*filter.trusted ? "trusted" : "not trusted");
  return join(parts);
}

Result<LoadedHits> load_hits(const Store& store, std::string_view tenant, const Candidates& candidates,
                             const DenseIndex* index, StageEvidence& stage) {
  std::vector<ChunkId> ids;
  ids.reserve(candidates.items.size());
  for (const Candidate& candidate : candidates.items) ids.push_back(candidate.chunk);
  auto chunks = store.chunks(tenant, ids);
  if (!chunks) return chunks.error();
  std::map<ChunkId, Verdict*> given;
  for (Verdict& verdict : stage.verdicts) given.emplace(verdict.chunk, &verdict);
  std::vector<Verdict> added;
  LoadedHits loaded;
  for (std::size_t i = 0; i < chunks->size(); ++i) {
    Result<StoredChunk>& chunk = (*chunks)[i];
    const auto found = given.find(ids[i]);
    Verdict& verdict = found != given.end() ? *found->second : added.emplace_back();
    if (!chunk) {
      verdict.chunk = ids[i];
      verdict.decision = Decision::kDropped;
      verdict.reason = "its text cannot be read: " + chunk.error().message;
      if (!verdict.score) verdict.score = candidates.items[i].score;
      continue;
    }
    Hit hit;
    hit.id = ids[i];
    hit.rank = static_cast<int>(loaded.hits.size()) + 1;
    hit.candidate = candidates.items[i];
    hit.document = chunk->document_id;
    hit.text = std::move(chunk->text);
    hit.source_begin = chunk->source_begin;
    hit.source_end = chunk->source_end;
    hit.page = chunk->page;
    hit.line = chunk->line;
    PassageCandidate passage;
    passage.chunk = hit.id;
    passage.document = hit.document;
    passage.text = hit.text;
    passage.score = hit.candidate.score;
    if (index != nullptr) {
      auto row = index->row(hit.id);
      if (!row) return row.error();
      passage.embedding = *std::move(row);
    }
    const auto document = store.document(tenant, hit.document);
    if (document) {
      hit.title = document->title;
      hit.source_path = document->source_path;
      passage.trusted = document->trusted;
      passage.content_hash = document->content_hash;
    } else {
      stage.notes.push_back("the record of document " + UntrustedText(hit.document).for_log() +
                            " cannot be read: " + document.error().message);
    }
    verdict.chunk = hit.id;
    verdict.document = hit.document;
    if (found == given.end()) {
      verdict.reason = "rank " + std::to_string(hit.rank);
      verdict.score = hit.candidate.score;
    }
    loaded.hits.push_back(std::move(hit));
    loaded.passages.push_back(std::move(passage));
  }
  std::move(added.begin(), added.end(), std::back_inserter(stage.verdicts));
  return loaded;
}

Status embed_missing(const Encoder& encoder, std::span<PassageCandidate> passages, StageEvidence& stage) {
  std::vector<std::string_view> texts;
  std::vector<PassageCandidate*> missing;
  for (PassageCandidate& passage : passages) {
    if (!passage.embedding.empty()) continue;
    texts.emplace_back(passage.text.bytes());
    missing.push_back(&passage);
  }
  if (missing.empty()) return {};
  const auto encoded = encoder.encode_passages(texts);
  if (!encoded) return encoded.error();
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const auto row = encoded->embeddings.row(i);
    missing[i]->embedding.assign(row.begin(), row.end());
  }
  stage.notes.push_back(std::to_string(missing.size()) +
                        " of the passages found have no vectors that can be read: their texts were embedded anew");
  return {};
}

std::vector<PromptPassage> prompt_passages(std::span<const Hit> hits) {
  std::vector<PromptPassage> out;
  out.reserve(hits.size());
  for (const Hit& hit : hits) out.push_back({hit.title, hit.text});
  return out;
}

}  // namespace casemate
