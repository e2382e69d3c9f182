#include "defend/passage_marks.h"

#include <algorithm>

namespace casemate {

SketchBands bands_of(const Sketch& sketch) {
  SketchBands bands{};
  for (std::size_t i = 0; i < kSketchBands; ++i) {
    // Values are hashes already; this only joins two of them to one.
    const std::uint64_t pair = (std::uint64_t{sketch[2 * i]} << 32U) | sketch[2 * i + 1];
    bands[i] = static_cast<std::uint32_t>((pair * 0x9E3779B97F4A7C15U) >> 32U);
  }
  return bands;
}

PassageMark mark_text(std::string_view text, const ShingleKey& key) {
  PassageMark mark;
  const std::string compared = comparison_text(text);
  const auto words = comparison_words(compared);
  mark.readable = true;
  mark.has_words = !words.empty();
  mark.text = blake2b(compared);
  mark.bands = bands_of(min_hash(shingles(words, key), key));
  return mark;
}

Result<std::vector<PassageMark>> mark_passages(const Store& store, std::string_view tenant,
                                               std::span<const ChunkId> ids, const ShingleKey& key,
                                               const ThreadPool& pool, std::stop_token stop) {
  constexpr std::size_t kBatch = 512;
  std::vector<PassageMark> marks(ids.size());
  for (std::size_t first = 0; first < ids.size(); first += kBatch) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped while reading passages"};
    const auto batch = ids.subspan(first, std::min(kBatch, ids.size() - first));
    const auto chunks = store.chunks(tenant, batch);
    if (!chunks) return chunks.error();
    pool.parallel_for(batch.size(), [&](std::size_t i, int) {
      const auto& chunk = (*chunks)[i];
      PassageMark& mark = marks[first + i];
      if (chunk) mark = mark_text(chunk->text.bytes(), key);
      mark.chunk = batch[i];
    });
  }
  return marks;
}

}  // namespace casemate
