#include "casemate/core/nearest_name.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace casemate {
namespace {

constexpr std::size_t kMaxBytes = 64;

char folded(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '-' ? '_' : c;
}

/// Optimal string alignment distance, which is at most 64 here.
std::size_t distance(std::string_view a, std::string_view b) {
  using Row = std::array<std::size_t, kMaxBytes + 1>;
  Row before{};
  Row last{};
  Row row{};
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = folded(a[i - 1]) == folded(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0U : 1U)});
      const bool swapped =
          i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
  name = name.substr(0, kMaxBytes);
  std::string_view best;
  std::size_t best_distance = kMaxBytes + 1;
  for (const std::string_view candidate : known) {
    const std::string_view start = candidate.substr(0, kMaxBytes);
    const std::size_t longer = std::max(name.size(), start.size());
    const std::size_t far = distance(name, start);
    if (far >= best_distance || far >= longer || far > std::max<std::size_t>(1, longer / 3)) continue;
    best = candidate;
    best_distance = far;
  }
  return best;
}

std::string_view nearest_name(std::string_view name, std::span<const std::string> known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  return nearest_name(name, views);
}

std::string name_hint(std::string_view name, std::span<const std::string_view> known) {
  if (known.empty()) return {};
  if (const std::string_view near = nearest_name(name, known); !near.empty()) {
    return " (did you mean \"" + std::string(near) + "\"?)";
  }
  std::string hint = " (known: ";
  for (std::size_t i = 0; i < known.size(); ++i) hint.append(i > 0 ? ", " : "").append(known[i]);
  return hint + ")";
}

std::string name_hint(std::string_view name, std::span<const std::string> known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  return name_hint(name, views);
}

}  // namespace casemate
