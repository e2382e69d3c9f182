#include "formats/visibility.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace casemate {
namespace {

constexpr double kLeastFontPx = 2;
constexpr double kLeastOpacity = 0.05;
/// Light grey (#eee) on white is 1.16, and can be read on a good screen; #f8f8f8 is 1.06.
constexpr double kLeastContrast = 1.15;
constexpr double kOffScreenPx = 900;

std::string_view find(const Declarations& own, std::string_view property) {
  const auto found = own.find(property);
  return found == own.end() ? std::string_view{} : std::string_view(found->second);
}

/// A length in px, where it can be told; percentages of `whole`.
std::optional<double> length_px(std::string_view text, double font_px, double whole) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (const std::size_t blank = unit.find(' '); blank != std::string_view::npos) unit = unit.substr(0, blank);
  static constexpr std::array<std::pair<std::string_view, double>, 9> kUnits = {
      {{"", 1}, {"px", 1}, {"pt", 4.0 / 3}, {"pc", 16}, {"in", 96}, {"cm", 37.8}, {"mm", 3.78}, {"vw", 12}, {"vh", 8}}};
  for (const auto& [name, px] : kUnits) {
    if (unit == name) return number * px;
  }
  if (unit == "em") return number * font_px;
  if (unit == "rem") return number * 16;
  if (unit == "%") return number / 100 * whole;
  return std::nullopt;
}

double font_size(const Declarations& own, double parent_px) {
  std::string_view value = find(own, "font-size");
  if (value.empty()) {
    // "font: italic 0/0 serif": the size is the first word that begins with a digit or a point.
    value = find(own, "font");
    while (!value.empty() && !((value[0] >= '0' && value[0] <= '9') || value[0] == '.')) {
      const std::size_t blank = value.find(' ');
      value = blank == std::string_view::npos ? std::string_view{} : value.substr(blank + 1);
    }
    value = value.substr(0, value.find('/'));
  }
  if (value.empty()) return parent_px;
  static constexpr std::array<std::pair<std::string_view, double>, 7> kNames = {{{"xx-small", 9},
                                                                                 {"x-small", 10},
                                                                                 {"small", 13},
                                                                                 {"medium", 16},
                                                                                 {"large", 18},
                                                                                 {"x-large", 24},
                                                                                 {"xx-large", 32}}};
  for (const auto& [name, px] : kNames) {
    if (value == name) return px;
  }
  return length_px(value, parent_px, parent_px).value_or(parent_px);
}

/// "url()" names no picture, so the color behind it counts.
std::string without_empty_urls(std::string_view text) {
  std::string value(text);
  for (const std::string_view empty : {"url()", "url('')", "url(\"\")"}) {
    for (std::size_t at = value.find(empty); at != std::string::npos; at = value.find(empty))
      value.erase(at, empty.size());
  }
  while (value.ends_with(' ')) value.pop_back();
  return value;
}

void set_background(TextStyle& style, std::string_view text) {
  const std::string value = without_empty_urls(text);
  if (value.empty() || value == "none" || value == "transparent" || value == "inherit") return;
  if (value.find("url(") != std::string_view::npos || value.find("gradient") != std::string_view::npos) {
    style.background_known = false;
    return;
  }
  Color color;
  std::string_view rest(value);
  while (!rest.empty()) {
    // "background: #fff no-repeat": any word of it may be the color; rgb(...) has blanks inside.
    const std::size_t open = rest.find('(');
    std::size_t end = std::min(rest.find(' '), rest.size());
    if (open < end) end = std::min(rest.find(')', open), rest.size() - 1) + 1;
    if (parse_color(rest.substr(0, end), color)) {
      if (color.alpha < 0.5) return;
      style.background = color;
      style.background_known = true;
      return;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  style.background_known = false;
}

double linear(double channel) {
  const double c = channel / 255;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

double luminance(const Color& color) {
  return 0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue);
}

bool parse_hex(std::string_view digits, Color& color) {
  if (digits.size() != 3 && digits.size() != 4 && digits.size() != 6 && digits.size() != 8) return false;
  const std::size_t width = digits.size() <= 4 ? 1 : 2;
  std::array<double, 4> parts = {0, 0, 0, 255};
  for (std::size_t i = 0; i * width < digits.size(); ++i) {
    unsigned value = 0;
    const char* begin = digits.data() + i * width;
    const auto [end, error] = std::from_chars(begin, begin + width, value, 16);
    if (error != std::errc() || end != begin + width) return false;
    parts.at(i) = width == 1 ? value * 17 : value;
  }
  color = {parts[0], parts[1], parts[2], parts[3] / 255};
  return true;
}

bool parse_rgb(std::string_view text, Color& color) {
  const std::size_t open = text.find('(');
  std::string_view rest = text.substr(open + 1);
  std::array<double, 4> parts = {0, 0, 0, 1};
  std::size_t count = 0;
  while (!rest.empty() && count < 4) {
    if (rest[0] == ' ' || rest[0] == ',' || rest[0] == '/') {
      rest.remove_prefix(1);
      continue;
    }
    double value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc()) break;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.starts_with('%')) {
      value *= count < 3 ? 2.55 : 0.01;
      rest.remove_prefix(1);
    }
    parts.at(count++) = value;
  }
  if (count < 3) return false;
  color = {std::clamp(parts[0], 0.0, 255.0), std::clamp(parts[1], 0.0, 255.0), std::clamp(parts[2], 0.0, 255.0),
           std::clamp(parts[3], 0.0, 1.0)};
  return true;
}

/// Off-screen for `text`: a length of -900 px or beyond.
bool far_away(std::string_view text, double font_px) {
  const std::optional<double> px = length_px(text, font_px, 1000);
  return px && *px <= -kOffScreenPx;
}

}  // namespace

bool parse_color(std::string_view text, Color& color) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 22> kNames = {
      {{"white", "fff"},         {"black", "000"},     {"transparent", "0000"}, {"red", "f00"},
       {"green", "008000"},      {"blue", "00f"},      {"gray", "808080"},      {"grey", "808080"},
       {"silver", "c0c0c0"},     {"yellow", "ff0"},    {"navy", "000080"},      {"maroon", "800000"},
       {"olive", "808000"},      {"purple", "800080"}, {"teal", "008080"},      {"lime", "0f0"},
       {"aqua", "0ff"},          {"fuchsia", "f0f"},   {"snow", "fffafa"},      {"ivory", "fffff0"},
       {"whitesmoke", "f5f5f5"}, {"orange", "ffa500"}}};
  if (text.starts_with('#')) return parse_hex(text.substr(1), color);
  if (text.starts_with("rgb(") || text.starts_with("rgba(")) return parse_rgb(text, color);
  for (const auto& [name, hex] : kNames) {
    if (text == name) return parse_hex(hex, color);
  }
  return false;
}

double contrast_ratio(const Color& a, const Color& b) {
  const double first = luminance(a) + 0.05;
  const double second = luminance(b) + 0.05;
  return std::max(first, second) / std::min(first, second);
}

TextStyle inherit(const TextStyle& parent, const Declarations& own) {
  TextStyle style = parent;
  const std::string_view visibility = find(own, "visibility");
  if (visibility == "hidden" || visibility == "collapse") style.visible = false;
  if (visibility == "visible") style.visible = true;
  style.font_px = font_size(own, parent.font_px);
  if (const auto opacity = length_px(find(own, "opacity"), 16, 1)) style.opacity *= std::clamp(*opacity, 0.0, 1.0);
  for (const std::string_view property : {"color", "-webkit-text-fill-color"}) {
    const std::string_view value = find(own, property);
    if (value.empty() || value == "inherit" || value == "currentcolor") continue;
    style.color_known = parse_color(value, style.color);
  }
  set_background(style, find(own, "background"));
  set_background(style, find(own, "background-color"));
  return style;
}

std::string unseen_text_reason(const TextStyle& style) {
  if (!style.visible) return "visibility: hidden";
  if (style.font_px < kLeastFontPx) return "font size below 2 px";
  if (style.color_known && style.color.alpha < kLeastOpacity) return "transparent color";
  if (style.color_known && style.background_known && contrast_ratio(style.color, style.background) < kLeastContrast) {
    return "color too near to its background";
  }
  return {};
}

std::string unseen_box_reason(const Declarations& own, const TextStyle& style) {
  if (find(own, "display") == "none") return "display: none";
  if (style.opacity < kLeastOpacity) return "opacity 0";
  const std::string_view position = find(own, "position");
  const bool positioned =
      position == "absolute" || position == "fixed" || position == "relative" || position == "sticky";
  for (const std::string_view side : {"left", "top", "right", "bottom"}) {
    if (positioned && far_away(find(own, side), style.font_px)) return "positioned off the page";
  }
  for (const std::string_view property : {"text-indent", "margin-left", "margin-top", "margin"}) {
    if (far_away(find(own, property), style.font_px)) return "moved off the page";
  }
  const std::string_view transform = find(own, "transform");
  if (transform.starts_with("scale(0)") || transform.find("(-9999") != std::string_view::npos)
    return "transformed out of sight";
  const bool cut = find(own, "overflow").starts_with("hidden") || find(own, "overflow") == "clip" ||
                   find(own, "overflow-x") == "hidden" || find(own, "overflow-y") == "hidden";
  for (const std::string_view side : {"width", "height", "max-width", "max-height"}) {
    const auto px = length_px(find(own, side), style.font_px, 1000);
    if (cut && px && *px <= 1) return "a box of no size";
  }
  const std::string_view clip = find(own, "clip");
  if (positioned && (clip.starts_with("rect(0") || clip.starts_with("rect(1px"))) return "clipped away";
  const std::string_view path = find(own, "clip-path");
  if (path.starts_with("inset(100%") || path.starts_with("inset(50%") || path.starts_with("circle(0"))
    return "clipped away";
  return {};
}

}  // namespace casemate
