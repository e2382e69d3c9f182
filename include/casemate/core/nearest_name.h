// casemate/core/nearest_name.h
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace casemate {

/// The name in `known` that someone who wrote `name` most likely meant: the one with the least edit distance
/// (insertions, deletions, substitutions and swaps of neighbours, letter case and -/_ not counted), where that is at
/// most a third of the longer name and at least one character is right; the first of several. Empty where none is near.
/// Names are compared by bytes, and only their first 64.
[[nodiscard]] std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);
[[nodiscard]] std::string_view nearest_name(std::string_view name, std::span<const std::string> known);

/// The end of a message about an unknown name: ` (did you mean "top_k"?)`, or where nothing is near
/// ` (known: a, b, c)`, or nothing where `known` is empty.
[[nodiscard]] std::string name_hint(std::string_view name, std::span<const std::string_view> known);
[[nodiscard]] std::string name_hint(std::string_view name, std::span<const std::string> known);

}  // namespace casemate
