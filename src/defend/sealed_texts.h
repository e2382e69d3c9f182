// src/defend/sealed_texts.h
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "defend/passage_marks.h"

namespace casemate {

/// Finds which texts of a set a text copies. Passages with equal comparison texts are one text. Immutable, thread-safe.
class SealedTexts {
 public:
  using Index = std::uint32_t;

  explicit SealedTexts(std::span<const PassageMark> marks);

  [[nodiscard]] std::size_t size() const noexcept { return groups_.size(); }
  /// Passages with that text, ascending; never empty.
  [[nodiscard]] std::span<const ChunkId> chunks(Index text) const noexcept { return groups_[text].chunks; }
  /// The text of a passage of the set.
  [[nodiscard]] std::optional<Index> text_of(ChunkId chunk) const noexcept;
  /// The text with that hash.
  [[nodiscard]] std::optional<Index> equal(const Digest& text) const noexcept;
  /// Texts that share sketch bands with `mark`, those with most first, at most `limit`. None for a text without words.
  [[nodiscard]] std::vector<Index> similar(const PassageMark& mark, std::size_t limit) const;

 private:
  struct Group {
    Digest text{};
    std::vector<ChunkId> chunks;
  };
  std::vector<Group> groups_;                                                     ///< by hash
  std::vector<std::pair<ChunkId, Index>> by_chunk_;                               ///< by chunk
  std::array<std::vector<std::pair<std::uint32_t, Index>>, kSketchBands> bands_;  ///< each sorted
};

}  // namespace casemate
