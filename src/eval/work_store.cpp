#include "eval/work_store.h"

#include <algorithm>

#include "casemate/core/hash.h"
#include "casemate/core/signing.h"
#include "casemate/defend/seal.h"
#include "casemate/pipeline/indexer.h"
#include "casemate/pipeline/prepare.h"

namespace casemate {
namespace {

constexpr char kTenant[] = "default";
constexpr std::size_t kBatch = 128;

/// Passages of a data set stay whole, but an encoder that reads little must accept the store's chunk length.
ChunkerOptions fitting_chunks(const Encoder& encoder) {
  ChunkerOptions chunking;
  while (chunking.max_tokens >= 16 && !store_identity(encoder, chunking)) {
    chunking.max_tokens /= 2;
    chunking.overlap_tokens = chunking.max_tokens / 5;
  }
  return chunking;
}

NewDocument document_of(const CraftedDocument& crafted) {
  NewDocument out;
  out.tenant = kTenant;
  out.id = crafted.id;
  out.title = crafted.title;
  out.source_path = "attack";
  out.format = "attack";
  out.labels = {"attack"};
  out.content_hash = blake2b(crafted.id + "\n" + crafted.text.bytes());
  out.chunks.push_back({crafted.text, 0, crafted.text.size(), 0, 0});
  return out;
}

}  // namespace

Result<WorkStore> WorkStore::open(const std::string& path, const Encoder& encoder) {
  const auto identity = store_identity(encoder, fitting_chunks(encoder));
  if (!identity) return identity.error();
  StoreOptions options;
  options.encoder = *identity;
  auto store = Store::open(path, options);
  if (!store && store.error().code == ErrorCode::kNotFound) store = Store::create(path, *identity);
  if (!store) return store.error();
  WorkStore out(*std::move(store), encoder);
  if (Status removed = out.remove_planted(); !removed) return removed.error();
  return out;
}

Status WorkStore::index(const std::string& corpus, std::span<const VectorRecipe* const> recipes, bool trusted,
                        Progress& progress, std::stop_token stop) {
  IndexOptions options;
  options.tenant = kTenant;
  options.reading.format = Format::kSquad;
  options.trusted = trusted;
  options.chunking = fitting_chunks(*encoder_);
  options.recipes.assign(recipes.begin(), recipes.end());
  const auto summary = index_paths(std::span(&corpus, 1), options, *store_, *encoder_, progress, stop);
  if (!summary) return summary.error();
  if (summary->refused > 0) {
    return Error{ErrorCode::kInvalidInput,
                 corpus + ": " + std::to_string(summary->refused) +
                     " passages could not be stored, the first: " + summary->problems.front()};
  }
  // Passages of an earlier run may lack the vectors of a defence that came into the experiment later.
  for (const VectorRecipe* recipe : recipes) {
    const auto completed = complete_vectors(*store_, kTenant, *recipe, progress, stop);
    if (!completed) return completed.error();
  }
  return {};
}

Status WorkStore::seal(const ThreadPool& pool, Progress& progress, std::stop_token stop) {
  const auto there = read_seal(*store_, kTenant);
  if (!there) return there.error();
  if (*there) return {};
  SealOptions options;
  options.tenant = kTenant;
  const auto sealed = seal_documents(*store_, SigningKey::generate(), options, pool, progress, stop);
  return sealed ? Status() : Status(sealed.error());
}

Status WorkStore::plant(std::span<const CraftedDocument> documents, std::span<const VectorRecipe* const> recipes,
                        Progress& progress, std::stop_token stop) {
  progress.begin("planting", documents.size(), "documents");
  for (std::size_t first = 0; first < documents.size(); first += kBatch) {
    if (stop.stop_requested()) {
      progress.end();
      return Error{ErrorCode::kCancelled, "stopped"};
    }
    const auto batch = documents.subspan(first, std::min(kBatch, documents.size() - first));
    std::vector<std::string_view> texts;
    std::vector<NewDocument> added;
    for (const CraftedDocument& each : batch) {
      texts.emplace_back(each.text.bytes());
      added.push_back(document_of(each));
    }
    const auto encoded = encoder_->encode_passages(texts);
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
    const auto results = store_->add_documents(added);
    if (!results) return results.error();
    for (const AddResult& result : *results) {
      if (result.error) return *result.error;
    }
    progress.update(first + batch.size());
  }
  progress.end();
  return {};
}

Status WorkStore::remove_planted() {
  std::string after = kAttackIdPrefix;
  while (true) {
    const auto documents = store_->documents(kTenant, after, 1000);
    if (!documents) return documents.error();
    std::vector<std::string> planted;
    for (const StoredDocument& document : *documents) {
      if (document.id.starts_with(kAttackIdPrefix)) planted.push_back(document.id);
    }
    if (planted.empty()) return {};
    after = planted.back();
    if (const auto deleted = store_->delete_documents(kTenant, planted); !deleted) return deleted.error();
  }
}

}  // namespace casemate
