#include "eval/report/sweeps.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "eval/trimmed.h"

namespace casemate {
namespace {

struct Option {
  std::string key;
  std::string value;
};

/// "name{a: 1, b: x}" in parts; nothing where it is not of that form (a chain, say, or nested options).
struct Named {
  std::string name;
  std::vector<Option> options;
};

std::optional<Named> parts_of(const std::string& text) {
  const std::size_t open = text.find('{');
  if (open == std::string::npos) return Named{text, {}};
  if (text.back() != '}' || text.find_first_of("{}[]\"'", open + 1) != text.size() - 1) return std::nullopt;
  Named out{std::string(trimmed(std::string_view(text).substr(0, open))), {}};
  std::string_view inside = std::string_view(text).substr(open + 1, text.size() - open - 2);
  while (!inside.empty()) {
    const std::size_t comma = inside.find(',');
    const std::string_view one = inside.substr(0, comma);
    inside.remove_prefix(comma == std::string_view::npos ? inside.size() : comma + 1);
    const std::size_t colon = one.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    out.options.push_back({std::string(trimmed(one.substr(0, colon))), std::string(trimmed(one.substr(colon + 1)))});
  }
  return out;
}

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::string without(const Named& named, std::size_t left_out) {
  std::string options;
  for (std::size_t i = 0; i < named.options.size(); ++i) {
    if (i == left_out) continue;
    options += (options.empty() ? "" : ", ") + named.options[i].key + ": " + named.options[i].value;
  }
  return named.name + (options.empty() ? "" : "{" + options + "}");
}

}  // namespace

std::vector<Sweep> sweeps_among(const std::vector<std::string>& names, bool of_attack) {
  std::vector<Sweep> out;
  for (const std::string& name : names) {
    const auto parts = parts_of(name);
    if (!parts) continue;
    for (std::size_t i = 0; i < parts->options.size(); ++i) {
      const auto value = number_of(parts->options[i].value);
      if (!value) continue;
      const std::string rest = without(*parts, i);
      auto it = std::find_if(out.begin(), out.end(), [&](const Sweep& known) {
        return known.option == parts->options[i].key && known.of == rest;
      });
      if (it == out.end()) it = out.insert(out.end(), {parts->options[i].key, rest, of_attack, {}});
      it->values.push_back({*value, name});
    }
  }
  std::erase_if(out, [](const Sweep& sweep) { return sweep.values.size() < 2; });
  for (Sweep& sweep : out) {
    std::stable_sort(sweep.values.begin(), sweep.values.end(),
                     [](const Sweep::Value& a, const Sweep::Value& b) { return a.at < b.at; });
  }
  return out;
}

std::vector<Sweep> find_sweeps(const RunRecord& run) {
  std::vector<Sweep> out = sweeps_among(run.attacks, true);
  for (Sweep& each : sweeps_among(run.defences, false)) out.push_back(std::move(each));
  return out;
}

std::vector<PlotLine> sweep_lines(const RunRecord& run, const Sweep& sweep, const std::string& metric) {
  std::vector<PlotLine> out;
  for (const std::string& other : sweep.of_attack ? run.defences : run.attacks) {
    PlotLine line;
    line.label = other;
    for (const Sweep::Value& value : sweep.values) {
      const RunCondition* condition = sweep.of_attack ? run.find(value.name, other) : run.find(other, value.name);
      if (condition == nullptr) continue;
      const auto figure = condition->figures.find(metric);
      if (figure == condition->figures.end()) continue;
      line.points.push_back({value.at, figure->second.value, figure->second.interval});
    }
    if (line.points.size() >= 2) out.push_back(std::move(line));
  }
  return out;
}

}  // namespace casemate
