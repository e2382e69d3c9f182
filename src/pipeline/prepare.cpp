#include "casemate/pipeline/prepare.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "store/live_ids.h"

namespace casemate {
namespace {

constexpr char kSetting[] = "prepared_defences";
constexpr std::size_t kPrepareBatch = 128;

/// Passages of the tenant that have no vectors of this kind.
Result<std::vector<ChunkId>> missing_ids(Store& store, std::string_view tenant, const std::string& kind) {
  auto passages = store.snapshot(tenant);
  if (!passages) return passages.error();
  auto made = store.snapshot(tenant, kind);
  if (!made) return made.error();
  const std::vector<ChunkId> all = live_ids(**passages);
  const std::vector<ChunkId> have = live_ids(**made);
  std::vector<ChunkId> missing;
  std::set_difference(all.begin(), all.end(), have.begin(), have.end(), std::back_inserter(missing));
  return missing;
}

/// Chunks whose text can be read, and their texts.
struct Batch {
  std::vector<ChunkId> ids;
  std::vector<StoredChunk> chunks;
};

Result<Batch> read_batch(const Store& store, std::string_view tenant, std::span<const ChunkId> ids,
                         Progress& progress) {
  auto read = store.chunks(tenant, ids);
  if (!read) return read.error();
  Batch batch;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!(*read)[i]) {
      progress.note("passage " + std::to_string(ids[i]) + " is left out: " + (*read)[i].error().message);
      continue;
    }
    batch.ids.push_back(ids[i]);
    batch.chunks.push_back(*std::move((*read)[i]));
  }
  return batch;
}

Error stopped() {
  return {ErrorCode::kCancelled, "stopped; what was finished is stored, and running it again goes on from there"};
}

}  // namespace

Result<std::vector<DefenceChoice>> prepared_defences(const Store& store) {
  const auto setting = store.setting("", kSetting);
  if (!setting) return setting.error();
  std::vector<DefenceChoice> out;
  if (!*setting) return out;
  const auto list = nlohmann::json::parse(**setting, nullptr, false);
  if (!list.is_array()) return Error{ErrorCode::kCorrupt, store.path() + ": the list of prepared defences is damaged"};
  for (const auto& text : list) {
    if (!text.is_string()) continue;
    const auto choice = parse_defence(text.get<std::string>());
    if (!choice) return choice.error();
    out.push_back(*choice);
  }
  return out;
}

Status remember_prepared(Store& store, const DefenceChoice& choice) {
  const auto known = prepared_defences(store);
  if (!known) return known.error();
  nlohmann::json list = nlohmann::json::array();
  for (const DefenceChoice& each : *known) {
    if (each.name == choice.name && each.options == choice.options) return {};
    list.push_back(each.name + each.options);
  }
  list.push_back(choice.name + choice.options);
  return store.set_setting("", kSetting, list.dump());
}

Result<std::vector<std::unique_ptr<ScanDefence>>> prepared_scans(std::span<const DefenceChoice> choices,
                                                                 const DefenceServices& services) {
  std::vector<std::unique_ptr<ScanDefence>> out;
  std::set<std::string> kinds;
  for (const DefenceChoice& choice : choices) {
    const auto entry = find_defence(choice.name);
    if (!entry) return entry.error();
    if (!(*entry)->scans) continue;
    auto made = create_scan_defence(choice, services);
    if (!made) return made.error();
    if (kinds.insert((*made)->recipe().kind()).second) out.push_back(*std::move(made));
  }
  return out;
}

Result<PrepareSummary> complete_vectors(Store& store, std::string_view tenant, const VectorRecipe& recipe,
                                        Progress& progress, std::stop_token stop) {
  PrepareSummary summary;
  const auto missing = missing_ids(store, tenant, recipe.kind());
  if (!missing) return missing.error();
  const auto passages = store.snapshot(tenant);
  if (!passages) return passages.error();
  summary.already = (*passages)->live_chunks() - missing->size();
  if (missing->empty()) return summary;
  ProgressStage stage(progress, "making " + recipe.kind(), missing->size(), "passages");
  const std::size_t at_once = std::min(kPrepareBatch, recipe.passages_at_once());
  for (std::size_t first = 0; first < missing->size(); first += at_once) {
    if (stop.stop_requested()) return stopped();
    const std::size_t count = std::min(at_once, missing->size() - first);
    const auto batch = read_batch(store, tenant, std::span(*missing).subspan(first, count), progress);
    if (!batch) return batch.error();
    std::vector<std::string_view> texts;
    for (const StoredChunk& chunk : batch->chunks) texts.push_back(chunk.text.bytes());
    if (!texts.empty()) {
      auto rows = recipe.vectors(texts, &summary.repeated_fragments, stop);
      if (!rows) return rows.error();
      ExtraVectors vectors;
      vectors.kind = recipe.kind();
      vectors.rows_per_chunk = recipe.rows_per_chunk();
      vectors.dimension =
          static_cast<int>(rows->size() / (texts.size() * static_cast<std::size_t>(vectors.rows_per_chunk)));
      vectors.rows = *std::move(rows);
      if (Status added = store.add_vectors(tenant, batch->ids, vectors); !added) return added.error();
    }
    summary.passages += texts.size();
    stage.update(first + count);
  }
  return summary;
}

Result<PrepareSummary> precompute_passages(const Store& store, std::string_view tenant, const RetrievalDefence& defence,
                                           Progress& progress, std::stop_token stop) {
  PrepareSummary summary;
  const auto snapshot = store.snapshot(tenant);
  if (!snapshot) return snapshot.error();
  const std::vector<ChunkId> ids = live_ids(**snapshot);
  ProgressStage stage(progress, "precomputing for " + std::string(defence.name()), ids.size(), "passages");
  for (std::size_t first = 0; first < ids.size(); first += kPrepareBatch) {
    if (stop.stop_requested()) return stopped();
    const std::size_t count = std::min(kPrepareBatch, ids.size() - first);
    const auto batch = read_batch(store, tenant, std::span(ids).subspan(first, count), progress);
    if (!batch) return batch.error();
    std::vector<PassageCandidate> passages;
    for (const StoredChunk& chunk : batch->chunks) {
      PassageCandidate passage;
      passage.chunk = chunk.id;
      passage.document = chunk.document_id;
      passage.text = chunk.text;
      const auto document = store.document(tenant, chunk.document_id);
      if (!document) return document.error();
      passage.content_hash = document->content_hash;
      passages.push_back(std::move(passage));
    }
    const auto made = defence.precompute(tenant, passages, stop);
    if (!made) return made.error();
    summary.passages += *made;
    summary.already += passages.size() - *made;
    stage.update(first + count);
  }
  return summary;
}

}  // namespace casemate
