#include "pipeline/search.h"

#include <algorithm>

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

Result<std::vector<Hit>> load_hits(const Store& store, std::string_view tenant, const Candidates& candidates,
                                   StageEvidence& stage) {
  std::vector<ChunkId> ids;
  ids.reserve(candidates.items.size());
  for (const Candidate& candidate : candidates.items) ids.push_back(candidate.chunk);
  auto chunks = store.chunks(tenant, ids);
  if (!chunks) return chunks.error();
  std::vector<Hit> hits;
  for (std::size_t i = 0; i < chunks->size(); ++i) {
    Result<StoredChunk>& chunk = (*chunks)[i];
    if (!chunk) {
      stage.verdicts.push_back({ids[i],
                                "",
                                Decision::kDropped,
                                "its text cannot be read: " + chunk.error().message,
                                candidates.items[i].score,
                                {}});
      continue;
    }
    Hit hit;
    hit.id = ids[i];
    hit.rank = static_cast<int>(hits.size()) + 1;
    hit.candidate = candidates.items[i];
    hit.document = chunk->document_id;
    hit.text = std::move(chunk->text);
    hit.source_begin = chunk->source_begin;
    hit.source_end = chunk->source_end;
    hit.page = chunk->page;
    hit.line = chunk->line;
    const auto document = store.document(tenant, hit.document);
    if (document) {
      hit.title = document->title;
      hit.source_path = document->source_path;
    } else {
      stage.notes.push_back("the record of document " + UntrustedText(hit.document).for_log() +
                            " cannot be read: " + document.error().message);
    }
    stage.verdicts.push_back(
        {hit.id, hit.document, Decision::kKept, "rank " + std::to_string(hit.rank), hit.candidate.score, {}});
    hits.push_back(std::move(hit));
  }
  return hits;
}

}  // namespace casemate
