// Times Casemate's exact dense search on vectors that another program wrote.
//
//   bench_dense VECTORS.f32 QUERIES.f32 DIMENSION THREADS BATCH int8|float STORE_DIR IDS_OUT
//
// STORE_DIR is filled once from VECTORS (document i is row i). Prints {"seconds", "resident_bytes"}: median of a batch,
// top 5; memory that store and index hold. IDS_OUT gets the row numbers found, int64, five a query.
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "casemate/retrieve/dense_index.h"
#include "raw_vectors.h"
#include "vector_store.h"

namespace {

using namespace casemate;

constexpr int kTopK = 5;

int fail(const Error& error) {
  std::cerr << error.message << '\n';
  return 3;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 9) {
    std::cerr << "usage: bench_dense VECTORS QUERIES DIMENSION THREADS BATCH int8|float STORE_DIR IDS_OUT\n";
    return 2;
  }
  const auto d = static_cast<std::size_t>(std::atoi(argv[3]));
  const ThreadPool pool(std::atoi(argv[4]));
  const auto batch = static_cast<std::size_t>(std::atoi(argv[5]));
  const bool floats = std::string_view(argv[6]) == "float";
  const std::vector<float> queries = bench::read_floats(argv[2]);
  const std::size_t count = std::filesystem::file_size(argv[1]) / sizeof(float) / d;
  std::vector<float> vectors;
  const auto fill = [&](std::size_t i, NewDocument& document) {
    if (vectors.empty()) vectors = bench::read_floats(argv[1]);
    document.embeddings.assign(vectors.begin() + static_cast<std::ptrdiff_t>(i * d),
                               vectors.begin() + static_cast<std::ptrdiff_t>((i + 1) * d));
  };
  if (const auto filled = bench::open_or_fill(argv[7], count, d, fill); !filled) return fail(filled.error());
  vectors = {};
  const double before = bench::resident_bytes();
  const auto store = bench::open_or_fill(argv[7], count, d, fill);
  if (!store) return fail(store.error());
  const auto access = floats ? VectorAccess::kMemory : VectorAccess::kFile;
  const auto snapshot = (*store)->snapshot(bench::kTenant, kPassageVectors, access);
  if (!snapshot) return fail(snapshot.error());
  const auto index = DenseIndex::create(*snapshot, pool, floats ? DenseScan::kFloat : DenseScan::kInt8);
  if (!index) return fail(index.error());
  const double resident = bench::resident_bytes() - before;
  const ChunkId first_chunk = (*snapshot)->blocks()[0].chunk_ids[0];
  std::vector<std::int64_t> ids(queries.size() / d * kTopK);
  const auto run = [&](std::size_t first, std::size_t some) {
    const auto found = (*index)->search(std::span(queries).subspan(first * d, some * d), d, kTopK, nullptr, pool);
    if (!found) std::exit(3);
    for (std::size_t q = 0; q < some; ++q) {
      for (std::size_t i = 0; i < (*found)[q].size(); ++i)
        ids[(first + q) * kTopK + i] = (*found)[q][i].chunk - first_chunk;
    }
  };
  run(0, batch);
  const double seconds = bench::median_seconds_a_batch(queries.size() / d, batch, run);
  bench::write_ids(argv[8], ids);
  std::printf("{\"seconds\": %.9f, \"resident_bytes\": %.0f}\n", seconds, resident);
  return 0;
}
