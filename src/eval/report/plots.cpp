#include "eval/report/plots.h"

#include <algorithm>
#include <cmath>

#include "eval/report/html.h"

namespace casemate {
namespace {

// One size for all plots, in the units of their view box.
constexpr double kWidth = 460;
constexpr double kHeight = 320;
constexpr double kLeft = 52;
constexpr double kRight = 16;
constexpr double kTop = 14;
constexpr double kBottom = 44;

std::string number(double value) { return fixed_text(value, 1); }

/// Maps values to places along one axis.
struct Axis {
  double low = 0;
  double high = 1;
  double from = 0;  ///< place of `low`
  double to = 1;    ///< place of `high`
  bool logarithmic = false;

  [[nodiscard]] double place(double value) const {
    if (high <= low) return (from + to) / 2;
    const double share = logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return from + std::clamp(share, 0.0, 1.0) * (to - from);
  }
};

std::string tick_text(double value) {
  std::string text = fixed_text(value, std::abs(value) >= 10 || value == 0 ? 0 : 3);
  if (text.find('.') == std::string::npos) return text;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string svg_begin(const PlotText& text, const std::string& kind) {
  return "<svg class=\"plot\" role=\"img\" viewBox=\"0 0 " + number(kWidth) + " " + number(kHeight) +
         "\" aria-labelledby=\"" + html_text(text.id) + "-t " + html_text(text.id) + "-d\" data-kind=\"" + kind +
         "\"><title id=\"" + html_text(text.id) + "-t\">" + html_text(text.title) + "</title><desc id=\"" +
         html_text(text.id) + "-d\">" + html_text(text.description) + "</desc>";
}

std::string line(const char* style, double x1, double y1, double x2, double y2) {
  return std::string("<line class=\"") + style + "\" x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" +
         number(x2) + "\" y2=\"" + number(y2) + "\"/>";
}

std::string label(const char* style, double x, double y, const std::string& text) {
  return std::string("<text class=\"") + style + "\" x=\"" + number(x) + "\" y=\"" + number(y) + "\">" +
         html_text(text) + "</text>";
}

std::string frame(const PlotText& text, const Axis& x, const std::vector<double>& x_ticks, const Axis& y) {
  std::string out;
  for (int i = 0; i <= 4; ++i) {
    const double value = y.low + (y.high - y.low) * i / 4;
    out += line("grid", x.from, y.place(value), x.to, y.place(value));
    out += label("tick-y", x.from - 6, y.place(value) + 4, tick_text(value));
  }
  double last = -100;
  for (const double value : x_ticks) {
    out += line("grid", x.place(value), y.from, x.place(value), y.to);
    if (x.place(value) - last < 26) continue;  // labels do not run into each other
    last = x.place(value);
    out += label("tick-x", last, y.from + 16, tick_text(value));
  }
  out += label("axis-x", (x.from + x.to) / 2, kHeight - 6, text.x);
  out += "<text class=\"axis-y\" transform=\"translate(14 " + number((y.from + y.to) / 2) + ") rotate(-90)\">" +
         html_text(text.y) + "</text>";
  return out;
}

/// A window on [0, 1] that shows what there is, in quarters of a round size.
Axis window(double low, double high, double from, double to) {
  Axis axis{0, 1, from, to};
  if (low < -1e-9 || high > 1 + 1e-9) {
    // Bounds that rounding put a hair beyond [0, 1] do not come here.
    axis.low = std::min(0.0, low);
    axis.high = std::max(high, axis.low + 1e-6);
    return axis;
  }
  for (const double span : {0.2, 0.4}) {
    const double start = std::floor(low / (span / 2)) * (span / 2);
    if (high <= start + span + 1e-9 && start + span <= 1 + 1e-9) {
      axis.low = start;
      axis.high = start + span;
      return axis;
    }
  }
  return axis;
}

std::vector<double> quarters(const Axis& axis) {
  std::vector<double> out;
  for (int i = 0; i <= 4; ++i) out.push_back(axis.low + (axis.high - axis.low) * i / 4);
  return out;
}

constexpr std::size_t kStyles = 8;

std::string mark(std::size_t style, double x, double y) {
  const std::string cls = "class=\"mark s" + std::to_string(style % kStyles) + "\"";
  switch (style % 4) {
    case 0:
      return "<circle " + cls + " cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\"4\"/>";
    case 1:
      return "<rect " + cls + " x=\"" + number(x - 3.5) + "\" y=\"" + number(y - 3.5) + "\" width=\"7\" height=\"7\"/>";
    case 2:
      return "<path " + cls + " d=\"M" + number(x) + " " + number(y - 5) + "l5 9h-10z\"/>";
    default:
      return "<path " + cls + " d=\"M" + number(x) + " " + number(y - 5) + "l5 5l-5 5l-5 -5z\"/>";
  }
}

std::string polyline(std::size_t style, const std::string& points) {
  return "<polyline class=\"line s" + std::to_string(style % kStyles) + "\" points=\"" + points + "\"/>";
}

}  // namespace

std::vector<bool> pareto_front(const std::vector<PlotPoint>& points) {
  std::vector<bool> out;
  for (const PlotPoint& point : points) {
    out.push_back(std::none_of(points.begin(), points.end(), [&point](const PlotPoint& other) {
      return other.x >= point.x && other.y >= point.y && (other.x > point.x || other.y > point.y);
    }));
  }
  return out;
}

std::string scatter_plot(const PlotText& text, const std::vector<PlotPoint>& points) {
  double low_x = 1;
  double high_x = 0;
  double low_y = 1;
  double high_y = 0;
  for (const PlotPoint& point : points) {
    const Interval across = point.x_interval.value_or(Interval{point.x, point.x});
    const Interval up = point.y_interval.value_or(Interval{point.y, point.y});
    low_x = std::min({low_x, point.x, across.low});
    high_x = std::max({high_x, point.x, across.high});
    low_y = std::min({low_y, point.y, up.low});
    high_y = std::max({high_y, point.y, up.high});
  }
  const Axis x = window(low_x, high_x, kLeft, kWidth - kRight);
  const Axis y = window(low_y, high_y, kHeight - kBottom, kTop);
  const std::vector<bool> front = pareto_front(points);
  std::string out = svg_begin(text, "scatter") + frame(text, x, quarters(x), y);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (front[i]) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(points[a].x, -points[a].y) < std::pair(points[b].x, -points[b].y);
  });
  std::string steps;
  double last_x = 0;
  for (const std::size_t i : order) {
    const double px = x.place(points[i].x);
    const double py = y.place(points[i].y);
    if (!steps.empty()) steps += number(last_x) + "," + number(py) + " ";
    steps += number(px) + "," + number(py) + " ";
    last_x = px;
  }
  if (order.size() > 1) out += "<polyline class=\"front\" points=\"" + steps + "\"/>";
  for (const PlotPoint& point : points) {
    const double px = x.place(point.x);
    const double py = y.place(point.y);
    if (point.x_interval)
      out += line("whisker", x.place(point.x_interval->low), py, x.place(point.x_interval->high), py);
    if (point.y_interval)
      out += line("whisker", px, y.place(point.y_interval->low), px, y.place(point.y_interval->high));
  }
  // Points at the same place share a mark that names them all.
  std::vector<bool> drawn(points.size(), false);
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (drawn[i]) continue;
    std::string numbers;
    bool on_front = false;
    for (std::size_t k = i; k < points.size(); ++k) {
      const double apart =
          std::hypot(x.place(points[k].x) - x.place(points[i].x), y.place(points[k].y) - y.place(points[i].y));
      if (drawn[k] || apart > 14) continue;
      drawn[k] = true;
      on_front = on_front || front[k];
      numbers += (numbers.empty() ? "" : ",") + std::to_string(k + 1);
    }
    const double width = 14 + 6.2 * static_cast<double>(numbers.size());
    const double px = std::clamp(x.place(points[i].x), width / 2, kWidth - width / 2);
    const double py = y.place(points[i].y);
    out += std::string("<rect class=\"pill") + (on_front ? " best" : "") + "\" x=\"" + number(px - width / 2) +
           "\" y=\"" + number(py - 10) + "\" width=\"" + number(width) + "\" height=\"20\" rx=\"10\"/>";
    out += label(on_front ? "pill-text best" : "pill-text", px, py + 4, numbers);
  }
  return out + "</svg>";
}

std::string line_plot(const PlotText& text, const std::vector<PlotLine>& lines) {
  Axis x{INFINITY, -INFINITY, kLeft, kWidth - kRight};
  double low_y = 0;
  double high_y = 1;
  std::vector<double> ticks;
  for (const PlotLine& each : lines) {
    for (const PlotLine::Point& point : each.points) {
      x.low = std::min(x.low, point.x);
      x.high = std::max(x.high, point.x);
      low_y = std::min(low_y, point.y);
      high_y = std::max(high_y, point.y);
      ticks.push_back(point.x);
    }
  }
  std::sort(ticks.begin(), ticks.end());
  ticks.erase(std::unique(ticks.begin(), ticks.end()), ticks.end());
  x.logarithmic = x.low > 0 && x.high / x.low >= 20;
  Axis y{low_y, high_y, kHeight - kBottom, kTop};
  std::string out = svg_begin(text, "lines") + frame(text, x, ticks, y);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string upper;
    std::string lower;
    for (const PlotLine::Point& point : lines[i].points) {
      if (!point.interval) continue;
      const std::string at = number(x.place(point.x)) + ",";
      upper += at + number(y.place(point.interval->high)) + " ";
      lower = at + number(y.place(point.interval->low)) + " " + lower;
    }
    if (!upper.empty())
      out += "<polygon class=\"band s" + std::to_string(i % kStyles) + "\" points=\"" + upper + lower + "\"/>";
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string path;
    std::string marks;
    for (const PlotLine::Point& point : lines[i].points) {
      path += number(x.place(point.x)) + "," + number(y.place(point.y)) + " ";
      marks += mark(i, x.place(point.x), y.place(point.y));
    }
    out += polyline(i, path) + marks;
  }
  return out + "</svg>";
}

std::string line_sample(std::size_t line_number) {
  return "<svg class=\"sample\" viewBox=\"0 0 44 14\" aria-hidden=\"true\">" + polyline(line_number, "2,7 42,7") +
         mark(line_number, 22, 7) + "</svg>";
}

std::string interval_bar(double value, const std::optional<Interval>& interval, double top) {
  const Axis axis{0, top, 2, 98};
  std::string out = "<svg class=\"bar\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\">";
  out += line("bar-base", 2, 4, 98, 4);
  if (interval) out += line("bar-range", axis.place(interval->low), 4, axis.place(interval->high), 4);
  out += line("bar-value", axis.place(value), 0, axis.place(value), 8);
  return out + "</svg>";
}

}  // namespace casemate
