// src/retrieve/query_loop.h
#pragma once

#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/thread_pool.h"

namespace casemate {

/// What `find(q)` gives for each query in [0, count), several at once; one of the errors where any fails. A query alone
/// runs on the caller's thread, so that single queries of several threads do not wait for each other, and may share its
/// own work among the threads, which it could not from inside a task.
template <typename Find>
[[nodiscard]] auto for_each_query(std::size_t count, const ThreadPool& pool, const Find& find) {
  using Found = std::decay_t<decltype(*find(std::size_t{}))>;
  std::vector<Found> out(count);
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
  if (failed) return Result<std::vector<Found>>(*std::move(failed));
  return Result<std::vector<Found>>(std::move(out));
}

}  // namespace casemate
