#include <atomic>

#include "casemate/defend/passage_cache.h"

namespace casemate {
namespace {

class StorePassageCache final : public PassageCache {
 public:
  explicit StorePassageCache(Store& store) : store_(store) {}

  std::optional<std::string> get(std::string_view tenant, const Digest& content_hash, std::string_view key) override {
    auto read = store_.read_cache(tenant, content_hash, key);
    if (!read) {
      ++failures_;
      return std::nullopt;
    }
    ++(read->has_value() ? hits_ : misses_);
    return *std::move(read);
  }

  void put(std::string_view tenant, std::span<const CacheEntry> entries) override {
    if (entries.empty()) return;
    if (store_.read_only() || !store_.write_cache(tenant, entries)) failures_ += entries.size();
  }

  PassageCacheCounts counts() const override { return {hits_, misses_, failures_}; }

 private:
  Store& store_;
  std::atomic<std::uint64_t> hits_{0};
  std::atomic<std::uint64_t> misses_{0};
  std::atomic<std::uint64_t> failures_{0};
};

}  // namespace

std::unique_ptr<PassageCache> make_store_passage_cache(Store& store) {
  return std::make_unique<StorePassageCache>(store);
}

}  // namespace casemate
