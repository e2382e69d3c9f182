#include "casemate/text/overlap.h"

#include <algorithm>

#include "text/lower_words.h"

namespace casemate {

std::size_t longest_common_subsequence(std::span<const std::string> a, std::span<const std::string> b) {
  if (a.size() < b.size()) std::swap(a, b);
  std::vector<std::size_t> row(b.size() + 1, 0);
  for (const std::string& word : a) {
    std::size_t diagonal = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = word == b[j] ? diagonal + 1 : std::max(above, row[j]);
      diagonal = above;
    }
  }
  return row.back();
}

std::vector<std::string> rouge_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : lower_case(text)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      word.push_back(c);
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

double rouge_l(std::span<const std::string> a, std::span<const std::string> b) {
  if (a.empty() || b.empty()) return 0;
  const auto common = static_cast<double>(longest_common_subsequence(a, b));
  return 2 * common / static_cast<double>(a.size() + b.size());
}

}  // namespace casemate
