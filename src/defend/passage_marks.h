// src/defend/passage_marks.h
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "casemate/core/hash.h"
#include "casemate/core/status.h"
#include "casemate/core/thread_pool.h"
#include "casemate/store/store.h"
#include "casemate/text/shingles.h"

namespace casemate {

/// Two values of a sketch a band: texts of Jaccard similarity J share a band with probability 1 - (1 - J^2)^32, which
/// is 0.996 at J = 0.4 and 0.05 at J = 0.04.
inline constexpr std::size_t kSketchBands = kSketchValues / 2;
using SketchBands = std::array<std::uint32_t, kSketchBands>;

[[nodiscard]] SketchBands bands_of(const Sketch& sketch);

/// What finds copies of a passage's text.
struct PassageMark {
  ChunkId chunk = 0;
  bool readable = false;   ///< false: its text cannot be read, and the rest is unset
  bool has_words = false;  ///< false: only an equal text is a copy
  Digest text{};           ///< BLAKE2b of its comparison text
  SketchBands bands{};
};

[[nodiscard]] PassageMark mark_text(std::string_view text, const ShingleKey& key);

/// One for each id, in order. Error: what the store says of the whole call; Cancelled.
[[nodiscard]] Result<std::vector<PassageMark>> mark_passages(const Store& store, std::string_view tenant,
                                                             std::span<const ChunkId> ids, const ShingleKey& key,
                                                             const ThreadPool& pool, std::stop_token stop);

}  // namespace casemate
