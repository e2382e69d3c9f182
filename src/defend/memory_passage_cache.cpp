#include <list>
#include <mutex>
#include <unordered_map>

#include "casemate/defend/passage_cache.h"

namespace casemate {
namespace {

class MemoryPassageCache final : public PassageCache {
 public:
  explicit MemoryPassageCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  std::optional<std::string> get(std::string_view tenant, const Digest& content_hash, std::string_view key) override {
    const std::string name = name_of(tenant, content_hash, key);
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(name);
    if (found == places_.end()) {
      ++counts_.misses;
      return std::nullopt;
    }
    ++counts_.hits;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->value;
  }

  void put(std::string_view tenant, std::span<const CacheEntry> entries) override {
    for (const CacheEntry& entry : entries) {
      Kept kept{name_of(tenant, entry.content_hash, entry.key), entry.value};
      const std::lock_guard lock(mutex_);
      const auto found = places_.find(kept.name);
      if (found != places_.end()) drop(found->second);
      if (kept.bytes() > max_bytes_) {
        ++counts_.failures;
        continue;
      }
      while (bytes_ + kept.bytes() > max_bytes_) drop(std::prev(entries_.end()));
      bytes_ += kept.bytes();
      entries_.push_front(std::move(kept));
      places_.emplace(entries_.front().name, entries_.begin());
    }
  }

  PassageCacheCounts counts() const override {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  struct Kept {
    std::string name;
    std::string value;
    [[nodiscard]] std::size_t bytes() const { return name.size() + value.size(); }
  };
  using Place = std::list<Kept>::iterator;

  /// Lengths stand before the parts, so that no tenant's name can run into another's key.
  static std::string name_of(std::string_view tenant, const Digest& content_hash, std::string_view key) {
    std::string name = std::to_string(tenant.size()) + ":";
    name += tenant;
    name.append(reinterpret_cast<const char*>(content_hash.data()), content_hash.size());
    name += key;
    return name;
  }

  void drop(Place place) {
    bytes_ -= place->bytes();
    places_.erase(place->name);
    entries_.erase(place);
  }

  const std::size_t max_bytes_;
  mutable std::mutex mutex_;
  std::list<Kept> entries_;  // the last used first
  std::unordered_map<std::string_view, Place> places_;
  std::size_t bytes_ = 0;
  PassageCacheCounts counts_;
};

}  // namespace

Result<std::unique_ptr<PassageCache>> make_memory_passage_cache(std::size_t max_bytes) {
  if (max_bytes < 1 || max_bytes > (std::size_t{1} << 40U))
    return Error{ErrorCode::kInvalidOption, "max_bytes of a passage cache must be in 1 to 2^40"};
  return std::unique_ptr<PassageCache>(std::make_unique<MemoryPassageCache>(max_bytes));
}

}  // namespace casemate
