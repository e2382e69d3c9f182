// formats/visibility.h
#pragma once

#include <string>
#include <string_view>

#include "formats/css.h"

namespace casemate {

struct Color {
  double red = 0;  ///< 0 to 255, as the others
  double green = 0;
  double blue = 0;
  double alpha = 1;  ///< 0 to 1
};

/// The style that text inherits, as far as seeing it is concerned. The defaults are a browser's: black on white, 16 px.
struct TextStyle {
  bool visible = true;
  double font_px = 16;
  double opacity = 1;
  Color color;
  bool color_known = true;
  Color background{255, 255, 255, 1};
  bool background_known = true;
};

/// The style of an element from that of its parent and its own declarations.
[[nodiscard]] TextStyle inherit(const TextStyle& parent, const Declarations& own);

/// Why text of this style cannot be seen ("color too near to its background"); empty where it can.
[[nodiscard]] std::string unseen_text_reason(const TextStyle& style);
/// Why an element with these declarations shows nothing of what is in it ("display: none"); empty where it does.
[[nodiscard]] std::string unseen_box_reason(const Declarations& own, const TextStyle& style);

/// Reads #rgb, #rrggbb (with or without alpha), rgb(), rgba() and the common names. False for anything else.
[[nodiscard]] bool parse_color(std::string_view text, Color& color);
/// WCAG 2 contrast ratio, 1 to 21.
[[nodiscard]] double contrast_ratio(const Color& a, const Color& b);

}  // namespace casemate
