// casemate/defend/passage_cache.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "casemate/core/hash.h"
#include "casemate/core/status.h"
#include "casemate/store/store.h"

namespace casemate {

struct PassageCacheCounts {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t failures = 0;  ///< values that could not be kept, or read for another reason than being absent
};

/// Keeps values that were computed from passages and can be computed again. Thread-safe.
///
/// A value belongs to a tenant, to the content that it was computed from, and to a key that names everything else it
/// depends on. Nothing may rely on a value still being there; what is there is what was put.
class PassageCache {
 public:
  virtual ~PassageCache() = default;
  /// The value, or nothing. A failure to read counts as nothing.
  [[nodiscard]] virtual std::optional<std::string> get(std::string_view tenant, const Digest& content_hash,
                                                       std::string_view key) = 0;
  /// Keeps what it can; a failure is only counted, since the caller has the values.
  virtual void put(std::string_view tenant, std::span<const CacheEntry> entries) = 0;
  [[nodiscard]] virtual PassageCacheCounts counts() const = 0;
};

/// A cache in memory that drops what was not used for longest. `max_bytes` counts keys and values, in [1, 2^40];
/// a larger value is never kept. Error: InvalidOption.
[[nodiscard]] Result<std::unique_ptr<PassageCache>> make_memory_passage_cache(std::size_t max_bytes = 256U << 20U);

/// A cache in the store, which drops a document's values with the document. Where the store is open for reading only,
/// or another process is writing, values are read and none is kept. `store` must outlive the cache.
[[nodiscard]] std::unique_ptr<PassageCache> make_store_passage_cache(Store& store);

}  // namespace casemate
