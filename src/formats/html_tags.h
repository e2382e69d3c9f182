// formats/html_tags.h
#pragma once

#include <gumbo.h>

#include <string_view>

namespace casemate {

enum class TagRole {
  kInline,
  kLine,      ///< begins and ends on its own line
  kBlock,     ///< is parted from its neighbours by a blank line
  kCell,      ///< a table cell
  kNotText,   ///< script, style: code, left out without a finding
  kNotShown,  ///< template, noscript and the like: left out, and reported where there is text in it
};

[[nodiscard]] TagRole role_of(GumboTag tag);

}  // namespace casemate
