#include "casemate/text/rouge.h"

#include <algorithm>
#include <map>

#include "casemate/text/porter_stemmer.h"
#include "text/lower_words.h"

namespace casemate {
namespace {

RougeScore score_of(std::size_t common, std::size_t predicted, std::size_t expected) {
  RougeScore out;
  out.precision = static_cast<double>(common) / static_cast<double>(predicted);
  out.recall = static_cast<double>(common) / static_cast<double>(expected);
  const double sum = out.precision + out.recall;
  out.f = sum > 0 ? 2 * out.precision * out.recall / sum : 0;
  return out;
}

}  // namespace

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

std::vector<std::string> rouge_stems(std::string_view text) {
  std::vector<std::string> out = rouge_words(text);
  for (std::string& word : out) {
    if (word.size() > 3) word = porter_stem(word);
  }
  return out;
}

RougeScore rouge_n(std::span<const std::string> prediction, std::span<const std::string> reference, std::size_t n) {
  if (n == 0 || prediction.size() < n || reference.size() < n) return {};
  const auto count = [n](std::span<const std::string> words) {
    std::map<std::vector<std::string_view>, std::size_t> out;
    for (std::size_t i = 0; i + n <= words.size(); ++i) {
      const auto gram = words.subspan(i, n);
      ++out[{gram.begin(), gram.end()}];
    }
    return out;
  };
  const auto expected = count(reference);
  std::size_t common = 0;
  for (const auto& [gram, times] : count(prediction)) {
    const auto it = expected.find(gram);
    if (it != expected.end()) common += std::min(times, it->second);
  }
  return score_of(common, prediction.size() - n + 1, reference.size() - n + 1);
}

RougeScore rouge_l(std::span<const std::string> prediction, std::span<const std::string> reference) {
  if (prediction.empty() || reference.empty()) return {};
  return score_of(longest_common_subsequence(prediction, reference), prediction.size(), reference.size());
}

}  // namespace casemate
