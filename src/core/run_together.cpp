#include "casemate/core/run_together.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

namespace casemate {

Status run_together(std::size_t count, std::size_t at_once, const std::function<Status(std::size_t index)>& task) {
  std::mutex mutex;
  std::size_t next = 0;
  std::size_t failed = count;  // the lowest index that did
  Status outcome;
  const auto work = [&] {
    while (true) {
      std::size_t mine = 0;
      {
        const std::lock_guard lock(mutex);
        if (next >= count || failed < count) return;
        mine = next++;
      }
      Status done = task(mine);
      if (done) continue;
      const std::lock_guard lock(mutex);
      if (mine >= failed) continue;
      failed = mine;
      outcome = std::move(done);
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min(std::max<std::size_t>(at_once, 1), count); ++i) others.emplace_back(work);
  work();
  others.clear();  // waits for them
  return outcome;
}

}  // namespace casemate
