// casemate/text/edit_distance.h
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace casemate {

/// Levenshtein distance on code points: insertions, deletions and substitutions cost 1. Invalid UTF-8 reads as U+FFFD.
/// O(|a| * |b| / 64) time (Myers 1999, Hyyro 2003), O(|a| + |b|) memory.
[[nodiscard]] std::size_t levenshtein(std::string_view a, std::string_view b);

/// 1 - distance / longer length, in [0, 1]; 1 for two empty texts.
[[nodiscard]] double edit_similarity(std::string_view a, std::string_view b);

/// |A and B| / |A or B| over the sets of words; 1 for two empty sets.
[[nodiscard]] double jaccard(std::span<const std::string> a, std::span<const std::string> b);

}  // namespace casemate
