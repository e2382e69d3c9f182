#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "text/tagger_file.h"

namespace casemate {

/// Characters [begin, end) of some characters.
struct CharSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// What spaCy's English tokenizer cuts off and cuts at: its prefix, suffix and infix expressions as code of linear
/// time. All work on a text without white space, as code points.
class AffixRules {
 public:
  [[nodiscard]] static Result<AffixRules> create(const TaggerFile& file);

  /// Characters that a prefix takes from the front; 0 for none.
  [[nodiscard]] std::size_t prefix(std::span<const char32_t> text) const noexcept;
  /// Characters that the longest suffix takes from the end; 0 for none.
  [[nodiscard]] std::size_t suffix(std::span<const char32_t> text) const noexcept;
  /// The separators inside `text`, in order, not overlapping.
  [[nodiscard]] std::vector<CharSpan> infixes(std::span<const char32_t> text) const;
  /// True for a web or mail address with or without scheme, which stays one token. (Addresses of digits are left out:
  /// the other rules hardly ever cut them.)
  [[nodiscard]] bool is_address(std::span<const char32_t> text) const noexcept;

 private:
  [[nodiscard]] std::size_t infix_at(std::span<const char32_t> text, std::size_t at) const noexcept;

  CharacterClass alpha_, lower_, upper_, quote_, icon_, before_period_, prefix_, suffix_;
  std::vector<std::u32string> units_;
  std::vector<std::u32string> currencies_;
};

}  // namespace casemate
