// src/retrieve/query_loop.h
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/thread_pool.h"
#include "casemate/retrieve/dense_index.h"

namespace casemate {

/// What `find(q)` gives for each query in [0, count), several at once; one of the errors where any fails. A query alone
/// runs on the caller's thread, so that single queries of several threads do not wait for each other.
template <typename Find>
[[nodiscard]] Result<std::vector<std::vector<DenseHit>>> for_each_query(std::size_t count, const ThreadPool& pool,
                                                                        const Find& find) {
  std::vector<std::vector<DenseHit>> out(count);
  std::mutex mutex;
  std::optional<Error> failed;
  const auto one = [&](std::size_t q, int) {
    auto found = find(q);
    if (found) {
      out[q] = *std::move(found);
      return;
    }
    const std::lock_guard lock(mutex);
    failed = found.error();
  };
  if (count == 1) {
    one(0, 0);
  } else {
    pool.parallel_for(count, one);
  }
  if (failed) return *failed;
  return out;
}

}  // namespace casemate
