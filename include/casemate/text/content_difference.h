// casemate/text/content_difference.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace casemate {

/// What kind of word two near copies differ in. In the order in which differences are told.
enum class DifferenceKind : std::uint8_t {
  kNumber,    ///< has a digit
  kNegation,  ///< not, no, never, ...n't, without, ... (English)
  kName,      ///< has an upper-case letter
  kOther,     ///< another content word
  kOrder,     ///< the same content words in another order
};
[[nodiscard]] std::string_view difference_kind_name(DifferenceKind kind) noexcept;  ///< "number", ...

/// A word that stands in one text more often than in the other.
struct ContentDifference {
  DifferenceKind kind = DifferenceKind::kOther;
  std::string word;      ///< as written, compatibility forms apart; the copy's first moved word for kOrder
  bool in_copy = false;  ///< true: the copy has it more often; false: the original has
};

/// Words in which `copy` differs from `original`, by kind, at most `max_differences`; none where only case, white
/// space, punctuation or function words (the, of, and ...: English) differ. `copy_is_part`: the copy is a piece of the
/// original, so that only words it adds count, and order does not. Linear but for sorting.
[[nodiscard]] std::vector<ContentDifference> content_differences(std::string_view original, std::string_view copy,
                                                                 bool copy_is_part = false,
                                                                 std::size_t max_differences = 12);

/// "number 1912 -> 1921; name + Oslo; negation - not": what the original has, and what the copy. Not escaped: words
/// come from the texts.
[[nodiscard]] std::string describe(std::span<const ContentDifference> differences);

}  // namespace casemate
