#include "casemate/text/edit_distance.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "casemate/core/utf8.h"

namespace casemate {
namespace {

constexpr std::size_t kWordBits = 64;

std::vector<char32_t> code_points(std::string_view text) {
  std::vector<char32_t> out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = read_code_point(text, at);
    out.push_back(c.value == kInvalidCodePoint ? U'\uFFFD' : c.value);
    at += c.length;
  }
  return out;
}

/// One block of 64 rows of the matrix for one column. `carry` is the horizontal difference that enters at the top, and
/// leaves at the bottom (-1, 0 or 1).
void advance_block(std::uint64_t matches, std::uint64_t& positive, std::uint64_t& negative, int& carry,
                   std::uint64_t last_row, bool is_last, std::size_t& distance) {
  const std::uint64_t entering_negative = carry < 0 ? 1 : 0;
  const std::uint64_t entering_positive = carry > 0 ? 1 : 0;
  const std::uint64_t vertical = matches | negative;
  matches |= entering_negative;
  const std::uint64_t horizontal = (((matches & positive) + positive) ^ positive) | matches;
  std::uint64_t plus = negative | ~(horizontal | positive);
  std::uint64_t minus = positive & horizontal;
  if (is_last) {
    if ((plus & last_row) != 0) ++distance;
    if ((minus & last_row) != 0) --distance;
  }
  carry = (plus >> 63U) != 0 ? 1 : (minus >> 63U) != 0 ? -1 : 0;
  plus = (plus << 1U) | entering_positive;
  minus = (minus << 1U) | entering_negative;
  positive = minus | ~(vertical | plus);
  negative = plus & vertical;
}

}  // namespace

std::size_t levenshtein(std::string_view a, std::string_view b) {
  const std::vector<char32_t> pattern = code_points(a);
  const std::vector<char32_t> text = code_points(b);
  if (pattern.empty() || text.empty()) return std::max(pattern.size(), text.size());
  const std::size_t blocks = (pattern.size() + kWordBits - 1) / kWordBits;
  std::unordered_map<char32_t, std::vector<std::uint64_t>> rows_of;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    std::vector<std::uint64_t>& rows = rows_of[pattern[i]];
    rows.resize(blocks, 0);
    rows[i / kWordBits] |= std::uint64_t{1} << (i % kWordBits);
  }
  std::vector<std::uint64_t> positive(blocks, ~std::uint64_t{0});
  std::vector<std::uint64_t> negative(blocks, 0);
  const std::uint64_t last_row = std::uint64_t{1} << ((pattern.size() - 1) % kWordBits);
  std::size_t distance = pattern.size();
  for (const char32_t c : text) {
    const auto rows = rows_of.find(c);
    int carry = 1;  // the first row of the matrix grows by one a column
    for (std::size_t block = 0; block < blocks; ++block) {
      const std::uint64_t matches = rows == rows_of.end() ? 0 : rows->second[block];
      advance_block(matches, positive[block], negative[block], carry, last_row, block + 1 == blocks, distance);
    }
  }
  return distance;
}

double edit_similarity(std::string_view a, std::string_view b) {
  const std::size_t longest = std::max(code_points(a).size(), code_points(b).size());
  if (longest == 0) return 1;
  return 1 - static_cast<double>(levenshtein(a, b)) / static_cast<double>(longest);
}

double jaccard(std::span<const std::string> a, std::span<const std::string> b) {
  const std::set<std::string_view> first(a.begin(), a.end());
  const std::set<std::string_view> second(b.begin(), b.end());
  if (first.empty() && second.empty()) return 1;
  std::size_t common = 0;
  for (const std::string_view word : first) common += second.contains(word) ? 1 : 0;
  return static_cast<double>(common) / static_cast<double>(first.size() + second.size() - common);
}

}  // namespace casemate
