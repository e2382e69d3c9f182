// bench/raw_vectors.h
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace casemate::bench {

/// Raw little-endian float32 of a file.
inline std::vector<float> read_floats(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<float> values(static_cast<std::size_t>(std::max<std::streamoff>(file.tellg(), 0)) / sizeof(float));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
  return values;
}

/// Runs `work(first query, count)` over all queries in batches and gives the seconds a batch took, median.
template <typename Work>
double median_seconds_a_batch(std::size_t queries, std::size_t batch, Work work) {
  std::vector<double> seconds;
  for (std::size_t first = 0; first + batch <= queries; first += batch) {
    const auto begin = std::chrono::steady_clock::now();
    work(first, batch);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2), seconds.end());
  return seconds[seconds.size() / 2];
}

inline void write_ids(const std::string& path, const std::vector<std::int64_t>& ids) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(ids.data()), static_cast<std::streamsize>(ids.size() * sizeof(std::int64_t)));
}

}  // namespace casemate::bench
