// Times Casemate's exact dense search on vectors that another program wrote.
//
//   bench_dense VECTORS.f32 QUERIES.f32 DIMENSION THREADS BATCH STORE_DIR IDS_OUT
//
// STORE_DIR is filled once from VECTORS (document i is row i). Prints {"seconds"}: median of a batch, top 5. IDS_OUT
// gets the row numbers found, int64, five a query.
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "casemate/retrieve/dense_index.h"
#include "casemate/store/store.h"
#include "raw_vectors.h"

namespace {

using namespace casemate;

constexpr int kTopK = 5;

Result<std::unique_ptr<Store>> fill(const std::string& path, const std::vector<float>& vectors, std::size_t d) {
  EncoderIdentity identity;
  identity.model = "bench";
  identity.dimension = static_cast<int>(d);
  identity.pooling = "mean";
  identity.max_tokens = 256;
  auto store = Store::create(path, identity);
  if (!store) return store;
  for (std::size_t first = 0; first < vectors.size() / d; first += 10000) {
    std::vector<NewDocument> batch;
    for (std::size_t i = first; i < std::min(first + 10000, vectors.size() / d); ++i) {
      NewDocument document;
      document.tenant = "bench";
      document.id = std::to_string(i);
      document.content_hash = blake2b(document.id);
      document.chunks.push_back({UntrustedText("passage " + document.id), 0, 1, 0, 0});
      document.embeddings.assign(vectors.begin() + static_cast<std::ptrdiff_t>(i * d),
                                 vectors.begin() + static_cast<std::ptrdiff_t>((i + 1) * d));
      batch.push_back(std::move(document));
    }
    const auto added = (*store)->add_documents(batch);
    if (!added) return added.error();
  }
  return store;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 8) {
    std::cerr << "usage: bench_dense VECTORS QUERIES DIMENSION THREADS BATCH STORE_DIR IDS_OUT\n";
    return 2;
  }
  const auto d = static_cast<std::size_t>(std::atoi(argv[3]));
  const ThreadPool pool(std::atoi(argv[4]));
  const auto batch = static_cast<std::size_t>(std::atoi(argv[5]));
  const std::vector<float> queries = bench::read_floats(argv[2]);
  StoreOptions read_only;
  read_only.read_only = true;
  const bool there = std::filesystem::exists(std::string(argv[6]) + "/vault.db");
  const auto store = there ? Store::open(argv[6], read_only) : fill(argv[6], bench::read_floats(argv[1]), d);
  if (!store) {
    std::cerr << store.error().message << '\n';
    return 3;
  }
  const auto snapshot = (*store)->snapshot("bench");
  const auto index = DenseIndex::create(*snapshot, pool);
  if (!index) {
    std::cerr << index.error().message << '\n';
    return 3;
  }
  const ChunkId first_chunk = (*snapshot)->blocks()[0].chunk_ids[0];
  std::vector<std::int64_t> ids(queries.size() / d * kTopK);
  const auto run = [&](std::size_t first, std::size_t count) {
    const auto found = (*index)->search(std::span(queries).subspan(first * d, count * d), d, kTopK, nullptr, pool);
    if (!found) std::exit(3);
    for (std::size_t q = 0; q < count; ++q) {
      for (std::size_t i = 0; i < (*found)[q].size(); ++i)
        ids[(first + q) * kTopK + i] = (*found)[q][i].chunk - first_chunk;
    }
  };
  run(0, batch);
  const double seconds = bench::median_seconds_a_batch(queries.size() / d, batch, run);
  bench::write_ids(argv[7], ids);
  std::printf("{\"seconds\": %.9f}\n", seconds);
  return 0;
}
