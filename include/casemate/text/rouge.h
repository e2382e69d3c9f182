// casemate/text/rouge.h
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace casemate {

/// All in [0, 1]; 0 where either text has no words.
struct RougeScore {
  double precision = 0;
  double recall = 0;
  double f = 0;
};

/// Words as ROUGE counts them: runs of a-z and 0-9 after Unicode lower-casing; everything else separates, so that text
/// in other scripts has none (Lin 2004, as the rouge_score package has it, without stemming).
[[nodiscard]] std::vector<std::string> rouge_words(std::string_view text);
/// The same with words of more than three letters stemmed (porter_stemmer.h), as the package's `use_stemmer` does.
[[nodiscard]] std::vector<std::string> rouge_stems(std::string_view text);

/// ROUGE-N: clipped n-gram overlap. n >= 1.
[[nodiscard]] RougeScore rouge_n(std::span<const std::string> prediction, std::span<const std::string> reference,
                                 std::size_t n);

/// ROUGE-L: longest common subsequence over the whole texts.
[[nodiscard]] RougeScore rouge_l(std::span<const std::string> prediction, std::span<const std::string> reference);

/// Length of the longest common subsequence. O(|a| * |b|) time, O(min) memory.
[[nodiscard]] std::size_t longest_common_subsequence(std::span<const std::string> a, std::span<const std::string> b);

}  // namespace casemate
