// Times the system's FAISS IndexFlatIP as bench_dense times Casemate; same arguments without STORE_DIR.
//
//   bench_faiss VECTORS.f32 QUERIES.f32 DIMENSION THREADS BATCH IDS_OUT
#include <faiss/IndexFlat.h>
#include <omp.h>

#include <cstdlib>

#include "raw_vectors.h"

int main(int argc, char** argv) {
  using namespace casemate;
  if (argc < 7) return 2;
  const auto d = static_cast<std::size_t>(std::atoi(argv[3]));
  omp_set_num_threads(std::atoi(argv[4]));
  const auto batch = static_cast<std::size_t>(std::atoi(argv[5]));
  const std::vector<float> vectors = bench::read_floats(argv[1]);
  const std::vector<float> queries = bench::read_floats(argv[2]);
  faiss::IndexFlatIP index(static_cast<faiss::Index::idx_t>(d));
  index.add(static_cast<faiss::Index::idx_t>(vectors.size() / d), vectors.data());
  std::vector<faiss::Index::idx_t> found(queries.size() / d * 5);
  std::vector<float> scores(found.size());
  const auto run = [&](std::size_t first, std::size_t count) {
    index.search(static_cast<faiss::Index::idx_t>(count), queries.data() + first * d, 5, scores.data() + first * 5,
                 found.data() + first * 5);
  };
  run(0, batch);
  const double seconds = bench::median_seconds_a_batch(queries.size() / d, batch, run);
  bench::write_ids(argv[6], std::vector<std::int64_t>(found.begin(), found.end()));
  std::printf("{\"seconds\": %.9f}\n", seconds);
  return 0;
}
