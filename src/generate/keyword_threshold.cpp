#include "casemate/generate/keyword_threshold.h"

#include <algorithm>

namespace casemate {
namespace {

constexpr std::size_t kMostDecimals = 9;

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & '\xC0') != '\x80'; }));
}

}  // namespace

Result<Decimal> Decimal::parse(std::string_view text) {
  const Error wrong{ErrorCode::kInvalidArgument,
                    "\"" + std::string(text.substr(0, 40)) + "\" is not a plain decimal such as 0.3"};
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view part = point == std::string_view::npos ? std::string_view() : text.substr(point + 1);
  if (whole.empty() || whole.size() > kMostDecimals || part.size() > kMostDecimals) return wrong;
  if (point != std::string_view::npos && part.empty()) return wrong;
  Decimal out;
  for (const std::string_view digits : {whole, part}) {
    for (const char c : digits) {
      if (c < '0' || c > '9') return wrong;
      out.numerator = out.numerator * 10 + (c - '0');
    }
  }
  for (std::size_t i = 0; i < part.size(); ++i) out.denominator *= 10;
  return out;
}

std::string Decimal::to_string() const {
  std::string part;
  for (std::int64_t unit = denominator / 10, rest = numerator % denominator; unit > 0; unit /= 10) {
    part += static_cast<char>('0' + rest / unit);
    rest %= unit;
  }
  while (!part.empty() && part.back() == '0') part.pop_back();
  const std::string whole = std::to_string(numerator / denominator);
  return part.empty() ? whole : whole + "." + part;
}

int KeywordThreshold::least_count(int answering) const noexcept {
  const std::int64_t share = (alpha.numerator * answering + alpha.denominator - 1) / alpha.denominator;
  return static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(share, beta)));
}

std::map<std::string, int> count_keywords(std::span<const std::set<std::string>> sets) {
  std::map<std::string, int> counts;
  for (const std::set<std::string>& set : sets) {
    for (const std::string& keyword : set) ++counts[keyword];
  }
  return counts;
}

std::vector<std::string> keep_keywords(const std::map<std::string, int>& counts, int least_count) {
  std::vector<std::string> kept;
  for (const auto& [keyword, count] : counts) {
    if (count >= least_count) kept.push_back(keyword);
  }
  std::sort(kept.begin(), kept.end(), [](const std::string& a, const std::string& b) {
    const std::size_t first = code_points(a);
    const std::size_t second = code_points(b);
    return first != second ? first > second : a > b;
  });
  return kept;
}

}  // namespace casemate
