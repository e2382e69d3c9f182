// Times candidates by a graph or by cells against looking at every passage, one query at a time on one thread each, and
// tells how many of the exact top 5 are found.
//
//   bench_candidates STORE_DIR QUERIES.f32 DIMENSION hnsw|ivf
//
// STORE_DIR is a store as bench_dense fills it; the candidate index is made once and kept in it. Prints {"method",
// "passages", "build_seconds" (0: was there), "file_bytes", "exact_seconds", "breadths": [{"breadth", "seconds",
// "recall_at_5"}]}.
#include <cstdlib>
#include <iostream>
#include <set>

#include "casemate/retrieve/dense_index.h"
#include "casemate/retrieve/prepare_candidates.h"
#include "must.h"
#include "raw_vectors.h"
#include "timing.h"
#include "vector_store.h"

namespace {

using namespace casemate;

constexpr int kTopK = 5;
constexpr std::size_t kRescored = 100;

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::cerr << "usage: bench_candidates STORE_DIR QUERIES DIMENSION hnsw|ivf\n";
    return 2;
  }
  const std::vector<float> queries = bench::read_floats(argv[2]);
  const auto d = static_cast<std::size_t>(std::atoi(argv[3]));
  const CandidateMethod method = must(parse_candidate_method(argv[4]));
  const auto store = must(Store::open(argv[1]));
  const ThreadPool one(1);
  std::string file = must(candidates_file(*store, bench::kTenant, method));
  double build_seconds = 0;
  if (file.empty()) {
    const ThreadPool pool;
    build_seconds =
        seconds_of([&] { (void)must(prepare_candidates(*store, bench::kTenant, method, pool, Progress::none(), {})); });
    file = must(candidates_file(*store, bench::kTenant, method));
  }
  const auto candidates = must(load_candidates(*store, file));
  const auto snapshot = must(store->snapshot(bench::kTenant));
  const auto index = must(DenseIndex::create(snapshot, one));
  const std::size_t count = queries.size() / d;
  const auto query = [&](std::size_t q) { return std::span(queries).subspan(q * d, d); };
  const std::vector<int> breadths =
      method == CandidateMethod::kHnsw ? std::vector<int>{100, 128, 256, 512} : std::vector<int>{8, 32, 0, 256};
  std::vector<double> exact_times;
  std::vector<std::vector<double>> times(breadths.size());
  std::vector<std::size_t> found(breadths.size());
  std::size_t all = 0;
  for (std::size_t q = 0; q < count; ++q) {
    std::vector<std::vector<DenseHit>> exact;
    exact_times.push_back(seconds_of([&] { exact = must(index->search(query(q), d, kTopK, nullptr, one)); }));
    all += exact[0].size();
    for (std::size_t b = 0; b < breadths.size(); ++b) {
      std::vector<DenseHit> hits;
      times[b].push_back(seconds_of([&] {
        hits = must(index->rescore(query(q), must(candidates->find(query(q), kRescored, breadths[b])), kTopK));
      }));
      for (const DenseHit& hit : hits)
        found[b] += static_cast<std::size_t>(std::count(exact[0].begin(), exact[0].end(), hit));
    }
  }
  std::printf(
      "{\"method\": \"%s\", \"passages\": %zu, \"build_seconds\": %.1f, \"file_bytes\": %zu, "
      "\"exact_seconds\": %.9f, \"breadths\": [",
      argv[4], snapshot->live_chunks(), build_seconds, must(candidates->serialise()).size(), median(exact_times));
  for (std::size_t b = 0; b < breadths.size(); ++b) {
    std::printf("%s{\"breadth\": %d, \"seconds\": %.9f, \"recall_at_5\": %.4f}", b == 0 ? "" : ", ", breadths[b],
                median(times[b]), static_cast<double>(found[b]) / static_cast<double>(all));
  }
  std::printf("]}\n");
  return 0;
}
