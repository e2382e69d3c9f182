#include "eval/work_store.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "casemate/attack/plant.h"
#include "casemate/core/file_system.h"
#include "casemate/core/signing.h"
#include "casemate/defend/seal.h"
#include "casemate/pipeline/indexer.h"
#include "casemate/pipeline/prepare.h"

namespace casemate {
namespace {

/// Passages of a data set stay whole, but an encoder that reads little must accept the store's chunk length.
ChunkerOptions fitting_chunks(const Encoder& encoder) {
  ChunkerOptions chunking;
  while (chunking.max_tokens >= 16 && !store_identity(encoder, chunking)) {
    chunking.max_tokens /= 2;
    chunking.overlap_tokens = chunking.max_tokens / 5;
  }
  return chunking;
}

}  // namespace

Result<std::pair<std::string, Format>> corpus_file(const DataSet& data, const std::string& path) {
  if (!data.index_passages) return std::pair(data.path, Format::kSquad);
  std::string lines;
  for (const CorpusPassage& each : data.passages) {
    lines += nlohmann::ordered_json{{"_id", each.id}, {"title", each.title.for_json()}, {"text", each.text.for_json()}}
                 .dump() +
             "\n";
  }
  if (Status written = write_file_atomically(FileSystem::posix(), path, lines); !written) return written.error();
  return std::pair(path, Format::kJsonl);
}

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

Status WorkStore::index(const std::string& corpus, Format format, std::span<const VectorRecipe* const> recipes,
                        bool trusted, Progress& progress, std::stop_token stop) {
  IndexOptions options;
  options.tenant = kWorkTenant;
  options.reading.format = format;
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
    const auto completed = complete_vectors(*store_, kWorkTenant, *recipe, progress, stop);
    if (!completed) return completed.error();
  }
  return {};
}

Status WorkStore::seal(const ThreadPool& pool, Progress& progress, std::stop_token stop) {
  const auto there = read_seal(*store_, kWorkTenant);
  if (!there) return there.error();
  if (*there) return {};
  SealOptions options;
  options.tenant = kWorkTenant;
  const auto sealed = seal_documents(*store_, SigningKey::generate(), options, pool, progress, stop);
  return sealed ? Status() : Status(sealed.error());
}

Status WorkStore::plant(std::span<const CraftedDocument> documents, std::span<const VectorRecipe* const> recipes,
                        Progress& progress, std::stop_token stop) {
  return plant_documents(*store_, kWorkTenant, *encoder_, documents, recipes, progress, std::move(stop));
}

Status WorkStore::remove_planted() {
  const auto removed = casemate::remove_planted(*store_, kWorkTenant);
  return removed ? Status() : Status(removed.error());
}

}  // namespace casemate
