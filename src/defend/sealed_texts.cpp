#include "defend/sealed_texts.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace casemate {

SealedTexts::SealedTexts(std::span<const PassageMark> marks) {
  std::vector<const PassageMark*> order;
  for (const PassageMark& mark : marks) {
    if (mark.readable) order.push_back(&mark);
  }
  std::sort(order.begin(), order.end(), [](const PassageMark* a, const PassageMark* b) {
    return a->text != b->text ? a->text < b->text : a->chunk < b->chunk;
  });
  for (const PassageMark* mark : order) {
    const bool is_new = groups_.empty() || groups_.back().text != mark->text;
    if (is_new) groups_.push_back({mark->text, {}});
    groups_.back().chunks.push_back(mark->chunk);
    const auto index = static_cast<Index>(groups_.size() - 1);
    by_chunk_.emplace_back(mark->chunk, index);
    if (!is_new || !mark->has_words) continue;
    for (std::size_t band = 0; band < kSketchBands; ++band) bands_[band].emplace_back(mark->bands[band], index);
  }
  std::sort(by_chunk_.begin(), by_chunk_.end());
  for (auto& band : bands_) std::sort(band.begin(), band.end());
}

std::optional<SealedTexts::Index> SealedTexts::text_of(ChunkId chunk) const noexcept {
  const auto found = std::lower_bound(by_chunk_.begin(), by_chunk_.end(), std::pair<ChunkId, Index>{chunk, 0});
  if (found == by_chunk_.end() || found->first != chunk) return std::nullopt;
  return found->second;
}

std::optional<SealedTexts::Index> SealedTexts::equal(const Digest& text) const noexcept {
  const auto found = std::lower_bound(groups_.begin(), groups_.end(), text,
                                      [](const Group& group, const Digest& value) { return group.text < value; });
  if (found == groups_.end() || found->text != text) return std::nullopt;
  return static_cast<Index>(found - groups_.begin());
}

std::vector<SealedTexts::Index> SealedTexts::similar(const PassageMark& mark, std::size_t limit) const {
  // Text that very many passages share (a licence, a menu) must not make one query slow.
  constexpr std::ptrdiff_t kLongestBucket = 1000;
  if (!mark.has_words) return {};
  std::map<Index, std::size_t> shared;
  for (std::size_t band = 0; band < kSketchBands; ++band) {
    const auto& entries = bands_[band];
    auto at = std::lower_bound(entries.begin(), entries.end(), std::pair<std::uint32_t, Index>{mark.bands[band], 0});
    for (std::ptrdiff_t n = 0; at != entries.end() && at->first == mark.bands[band] && n < kLongestBucket; ++at, ++n)
      ++shared[at->second];
  }
  std::vector<std::pair<Index, std::size_t>> order(shared.begin(), shared.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (order.size() > limit) order.resize(limit);
  std::vector<Index> out;
  for (const auto& [index, bands] : order) out.push_back(index);
  return out;
}

}  // namespace casemate
