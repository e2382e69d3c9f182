// bench/vector_store.h
#pragma once

#include <malloc.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "casemate/store/store.h"

namespace casemate::bench {

inline constexpr char kTenant[] = "bench";
inline constexpr char kFragments[] = "fragments";

/// A store of `count` passages, document i being number i, made once and then opened for reading. `fill(i, document)`
/// gives the vectors of passage i.
inline Result<std::unique_ptr<Store>> open_or_fill(const std::string& path, std::size_t count, std::size_t d,
                                                   const std::function<void(std::size_t, NewDocument&)>& fill) {
  StoreOptions read_only;
  read_only.read_only = true;
  const std::string ready = path + ".ready";
  if (std::filesystem::exists(ready)) return Store::open(path, read_only);
  std::filesystem::remove_all(path);
  EncoderIdentity identity;
  identity.model = "bench";
  identity.dimension = static_cast<int>(d);
  identity.pooling = "mean";
  identity.max_tokens = 256;
  {
    auto store = Store::create(path, identity);
    if (!store) return store;
    constexpr std::size_t kAtOnce = 5000;
    for (std::size_t first = 0; first < count; first += kAtOnce) {
      std::vector<NewDocument> batch;
      for (std::size_t i = first; i < std::min(first + kAtOnce, count); ++i) {
        NewDocument document;
        document.tenant = kTenant;
        document.id = std::to_string(i);
        document.content_hash = blake2b(document.id);
        document.chunks.push_back({UntrustedText("passage " + document.id), 0, 1, 0, 0});
        fill(i, document);
        batch.push_back(std::move(document));
      }
      const auto added = (*store)->add_documents(batch);
      if (!added) return added.error();
    }
  }
  std::ofstream(ready) << "filled\n";
  return Store::open(path, read_only);
}

/// Bytes of memory that this process holds now, what is free for reuse given back before.
inline double resident_bytes() {
  ::malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  file >> pages >> pages;
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace casemate::bench
