#include "casemate/attack/plant.h"

#include <algorithm>

#include "casemate/core/hash.h"

namespace casemate {
namespace {

constexpr std::size_t kBatch = 128;

NewDocument document_of(std::string_view tenant, const CraftedDocument& crafted) {
  NewDocument out;
  out.tenant = std::string(tenant);
  out.id = crafted.id;
  out.title = crafted.title;
  out.source_path = kAttackLabel;
  out.format = kAttackLabel;
  out.labels = {kAttackLabel};
  out.content_hash = blake2b(crafted.id + "\n" + crafted.text.bytes());
  out.chunks.push_back({crafted.text, 0, crafted.text.size(), 0, 0});
  return out;
}

}  // namespace

Status plant_documents(Store& store, std::string_view tenant, const Encoder& encoder,
                       std::span<const CraftedDocument> documents, std::span<const VectorRecipe* const> recipes,
                       Progress& progress, std::stop_token stop) {
  ProgressStage stage(progress, "planting", documents.size(), "documents");
  for (std::size_t first = 0; first < documents.size(); first += kBatch) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped"};
    const auto batch = documents.subspan(first, std::min(kBatch, documents.size() - first));
    std::vector<std::string_view> texts;
    std::vector<NewDocument> added;
    for (const CraftedDocument& each : batch) {
      texts.emplace_back(each.text.bytes());
      added.push_back(document_of(tenant, each));
    }
    const auto encoded = encoder.encode_passages(texts);
    if (!encoded) return encoded.error();
    for (std::size_t i = 0; i < added.size(); ++i) {
      const auto row = encoded->embeddings.row(i);
      added[i].embeddings.assign(row.begin(), row.end());
    }
    for (const VectorRecipe* recipe : recipes) {
      const auto rows = recipe->vectors(texts, nullptr, stop);
      if (!rows) return rows.error();
      const std::size_t floats = rows->size() / added.size();
      for (std::size_t i = 0; i < added.size(); ++i) {
        ExtraVectors extra;
        extra.kind = recipe->kind();
        extra.rows_per_chunk = recipe->rows_per_chunk();
        extra.dimension = static_cast<int>(floats / static_cast<std::size_t>(extra.rows_per_chunk));
        const auto from = rows->begin() + static_cast<std::ptrdiff_t>(i * floats);
        extra.rows.assign(from, from + static_cast<std::ptrdiff_t>(floats));
        added[i].extra_vectors.push_back(std::move(extra));
      }
    }
    const auto results = store.add_documents(added);
    if (!results) return results.error();
    for (const AddResult& result : *results) {
      if (result.error) return *result.error;
    }
    stage.update(first + batch.size());
  }
  return {};
}

Result<std::size_t> remove_planted(Store& store, std::string_view tenant) {
  std::string after = kAttackIdPrefix;
  std::size_t removed = 0;
  while (true) {
    const auto documents = store.documents(tenant, after, 1000);
    if (!documents) return documents.error();
    std::vector<std::string> planted;
    for (const StoredDocument& document : *documents) {
      if (document.id.starts_with(kAttackIdPrefix) && document.labels.contains(kAttackLabel))
        planted.push_back(document.id);
    }
    if (!planted.empty()) {
      const auto deleted = store.delete_documents(tenant, planted);
      if (!deleted) return deleted.error();
      removed += static_cast<std::size_t>(*deleted);
    }
    if (documents->empty() || !documents->back().id.starts_with(kAttackIdPrefix)) return removed;
    after = documents->back().id;
  }
}

}  // namespace casemate
