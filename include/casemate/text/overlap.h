// casemate/text/overlap.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace casemate {

/// Length of the longest common subsequence. O(|a| * |b|) time, O(min) memory.
[[nodiscard]] std::size_t longest_common_subsequence(std::span<const std::string> a, std::span<const std::string> b);

/// Words as ROUGE counts them: runs of a-z and 0-9 after Unicode lower-casing; everything else separates (Lin 2004, as
/// the rouge_score package has it), without stemming.
[[nodiscard]] std::vector<std::string> rouge_words(std::string_view text);

/// ROUGE-L F1 of two word lists, in [0, 1]; 0 where either is empty.
[[nodiscard]] double rouge_l(std::span<const std::string> a, std::span<const std::string> b);

}  // namespace casemate
