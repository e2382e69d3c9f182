#include "casemate/generate/keyword_threshold.h"

#include <algorithm>
#include <string_view>

namespace casemate {
namespace {

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & '\xC0') != '\x80'; }));
}

}  // namespace

Result<KeywordThreshold> KeywordThreshold::create(Decimal alpha, Decimal beta) {
  constexpr std::int64_t kOne = 1'000'000'000;
  if (alpha.billionths() <= 0 || alpha.billionths() > kOne)
    return Error{ErrorCode::kInvalidOption, "alpha is " + alpha.text() + "; it must be above 0 and at most 1"};
  if (beta.billionths() < kOne)
    return Error{ErrorCode::kInvalidOption, "beta is " + beta.text() + "; it must be at least 1"};
  return KeywordThreshold{alpha, beta};
}

std::int64_t KeywordThreshold::least_count(std::int64_t answering) const noexcept {
  return std::max<std::int64_t>(1, std::min(alpha.times_rounded_up(answering), beta.times_rounded_up(1)));
}

std::map<std::string, int> count_keywords(std::span<const std::set<std::string>> sets) {
  std::map<std::string, int> counts;
  for (const std::set<std::string>& set : sets) {
    for (const std::string& keyword : set) ++counts[keyword];
  }
  return counts;
}

void order_hints(std::vector<std::string>& hints) {
  std::sort(hints.begin(), hints.end(), [](const std::string& a, const std::string& b) {
    const std::size_t first = code_points(a);
    const std::size_t second = code_points(b);
    return first != second ? first > second : a > b;
  });
}

std::vector<std::string> keep_keywords(const std::map<std::string, int>& counts, std::int64_t least_count) {
  std::vector<std::string> kept;
  for (const auto& [keyword, count] : counts) {
    if (count >= least_count) kept.push_back(keyword);
  }
  order_hints(kept);
  return kept;
}

}  // namespace casemate
