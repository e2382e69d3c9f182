// text/joiner_rules.h
#pragma once

#include <cstddef>
#include <string_view>

#include "casemate/core/utf8.h"

namespace casemate {

/// Decides which characters of a text stay, where one that shows nothing is part of the writing (clean_text.h has the
/// rules). The caller reports each character that it kept, in order.
class JoinerRules {
 public:
  explicit JoinerRules(std::string_view bytes) : bytes_(bytes) {}

  /// Number of bytes to keep, from the character `point` at byte `at`: its own length, that of a whole sequence which
  /// it begins, or 0 where it is to be left out.
  [[nodiscard]] std::size_t keeps(CodePoint point, std::size_t at) const;
  void kept(char32_t value) noexcept;

 private:
  [[nodiscard]] CodePoint next(std::size_t at) const;

  std::string_view bytes_;
  char32_t last_ = 0;  ///< the last character kept
  char32_t base_ = 0;  ///< the last one kept that is neither a variation selector nor a skin tone
};

}  // namespace casemate
