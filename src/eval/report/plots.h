// eval/report/plots.h
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "casemate/core/statistics.h"

namespace casemate {

/// A point of a scatter plot. Both axes are better where they are higher.
struct PlotPoint {
  std::string label;
  double x = 0;
  double y = 0;
  std::optional<Interval> x_interval;
  std::optional<Interval> y_interval;
};

/// Places of the points that no other beats: none is at least as good on both axes and better on one.
[[nodiscard]] std::vector<bool> pareto_front(const std::vector<PlotPoint>& points);

struct PlotText {
  std::string id;     ///< unique in the page
  std::string title;  ///< untrusted; so are all of these
  std::string description;
  std::string x;
  std::string y;
};

/// Numbered points (the number is the place in `points` from 1, so that no colour is needed), the Pareto front as a
/// stepped line. Inline SVG with <title> and <desc>.
[[nodiscard]] std::string scatter_plot(const PlotText& text, const std::vector<PlotPoint>& points);

struct PlotLine {
  std::string label;
  struct Point {
    double x = 0;
    double y = 0;
    std::optional<Interval> interval;
  };
  std::vector<Point> points;  ///< by x, ascending
};

/// Lines with bands of their intervals; each line has its own dashes and marks. The x axis is logarithmic where its
/// values are positive and span a factor of 20 or more; the y axis is [0, 1] unless a value is beyond.
[[nodiscard]] std::string line_plot(const PlotText& text, const std::vector<PlotLine>& lines);
/// The sample of a line's dashes and mark, for a legend.
[[nodiscard]] std::string line_sample(std::size_t line);

/// A tiny picture of a value with its interval on [0, top].
[[nodiscard]] std::string interval_bar(double value, const std::optional<Interval>& interval, double top);

}  // namespace casemate
