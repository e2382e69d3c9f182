// eval/report/html.h
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "casemate/core/statistics.h"

namespace casemate {

/// `text` for HTML text and attribute values.
[[nodiscard]] std::string html_text(std::string_view text);
/// "0.860"
[[nodiscard]] std::string fixed_text(double value, int digits = 3);
/// "[0.779, 0.915]", empty where there is none.
[[nodiscard]] std::string interval_text(const std::optional<Interval>& interval, int digits = 3);
/// "< 0.0001", or four digits.
[[nodiscard]] std::string p_value_text(double p);

/// An attack or a chain of defences as "name{options}": the name in bold, its options small below.
[[nodiscard]] std::string html_choice(std::string_view name);
/// What a metric is, in a few words; empty where nothing is known about it.
[[nodiscard]] std::string_view metric_help(std::string_view metric);

}  // namespace casemate
