// certify/keyword.h
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "casemate/certify/keyword.h"

namespace casemate::certify {

using Counts = std::map<std::string, std::int64_t>;

/// What can become of `counts`, the words of `answering` benign groups, under `corrupted` groups.
[[nodiscard]] KeywordReach reach_of_counts(const Counts& counts, std::int64_t answering, std::int64_t corrupted,
                                           const KeywordThreshold& rule);

/// `certain` and the words of `possible` whose bit is set in `chosen`, ascending.
[[nodiscard]] std::vector<std::string> hint_set(const KeywordReach& reach, std::uint64_t chosen);

/// Error: InvalidOption for a value out of range.
[[nodiscard]] Status check_options(const KeywordOptions& options);

inline constexpr std::int64_t kMaxModelCalls = std::int64_t{1} << 14U;

}  // namespace casemate::certify
