// Times RAGPart on fragments around vectors that another program wrote.
//
//   bench_ragpart VECTORS.f32 QUERIES.f32 DIMENSION THREADS BATCH N K STORE_DIR
//
// STORE_DIR is filled once: passage i has N fragments, each the unit vector of row i plus noise of the same length, so
// that fragment and passage have a cosine of about 0.7, as short pieces of a text have. Prints {"seconds",
// "resident_bytes", "checksum"}: median of a batch, top 5, majority; memory that store and index hold; a number that
// depends on all results.
#include <cmath>
#include <cstdlib>
#include <iostream>

#include "casemate/core/random.h"
#include "casemate/defend/ragpart_index.h"
#include "raw_vectors.h"
#include "vector_store.h"

namespace {

using namespace casemate;

int fail(const Error& error) {
  std::cerr << error.message << '\n';
  return 3;
}

std::vector<float> fragments_of(const float* passage, std::size_t i, std::size_t d, std::size_t n) {
  RandomStream random(i, "bench/fragments");
  std::vector<float> rows(n * d);
  std::vector<double> own(d);
  for (std::size_t r = 0; r < n; ++r) {
    double squares = 0;
    for (std::size_t j = 0; j < d; ++j) {
      own[j] = static_cast<double>(passage[j]) + random.normal() / std::sqrt(static_cast<double>(d));
      squares += own[j] * own[j];
    }
    for (std::size_t j = 0; j < d; ++j) rows[r * d + j] = static_cast<float>(own[j] / std::sqrt(squares));
  }
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 9) {
    std::cerr << "usage: bench_ragpart VECTORS QUERIES DIMENSION THREADS BATCH N K STORE_DIR\n";
    return 2;
  }
  const auto d = static_cast<std::size_t>(std::atoi(argv[3]));
  const ThreadPool pool(std::atoi(argv[4]));
  const auto batch = static_cast<std::size_t>(std::atoi(argv[5]));
  const auto n = static_cast<std::size_t>(std::atoi(argv[6]));
  RagPartSearchOptions options;
  options.combination = std::atoi(argv[7]);
  const std::vector<float> queries = bench::read_floats(argv[2]);
  const std::size_t count = std::filesystem::file_size(argv[1]) / sizeof(float) / d;
  std::vector<float> vectors;
  const auto fill = [&](std::size_t i, NewDocument& document) {
    if (vectors.empty()) vectors = bench::read_floats(argv[1]);
    document.embeddings.assign(vectors.begin() + static_cast<std::ptrdiff_t>(i * d),
                               vectors.begin() + static_cast<std::ptrdiff_t>((i + 1) * d));
    document.extra_vectors.push_back(
        {bench::kFragments, static_cast<int>(n), static_cast<int>(d), fragments_of(vectors.data() + i * d, i, d, n)});
  };
  if (const auto filled = bench::open_or_fill(argv[8], count, d, fill); !filled) return fail(filled.error());
  vectors = {};
  const double before = bench::resident_bytes();
  const auto store = bench::open_or_fill(argv[8], count, d, fill);
  if (!store) return fail(store.error());
  const auto snapshot = (*store)->snapshot(bench::kTenant, bench::kFragments);
  if (!snapshot) return fail(snapshot.error());
  const auto index = RagPartIndex::create(*snapshot, {}, pool);
  if (!index) return fail(index.error());
  const double resident = bench::resident_bytes() - before;
  std::uint64_t checksum = 0;
  const auto run = [&](std::size_t first, std::size_t some) {
    const auto found = (*index)->search(std::span(queries).subspan(first * d, some * d), d, options, nullptr, pool);
    if (!found) std::exit(3);
    for (const RagPartRanking& ranking : *found) {
      for (const RagPartHit& hit : ranking.hits) checksum = checksum * 31 + static_cast<std::uint64_t>(hit.chunk);
    }
  };
  run(0, batch);
  const double seconds = bench::median_seconds_a_batch(queries.size() / d, batch, run);
  std::printf("{\"seconds\": %.9f, \"resident_bytes\": %.0f, \"checksum\": %llu}\n", seconds, resident,
              static_cast<unsigned long long>(checksum));
  return 0;
}
