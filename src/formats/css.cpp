#include "formats/css.h"

#include <algorithm>
#include <array>
#include <utility>

namespace casemate {
namespace {

constexpr std::size_t kMaxRules = 20'000;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

std::string_view strip(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         (c & 0x80) != 0;
}

std::string without_comments(std::string_view css) {
  std::string out;
  while (!css.empty()) {
    const std::size_t open = css.find("/*");
    out += css.substr(0, open);
    if (open == std::string_view::npos) break;
    out += ' ';
    const std::size_t close = css.find("*/", open + 2);
    css = close == std::string_view::npos ? std::string_view{} : css.substr(close + 2);
  }
  return out;
}

/// The properties that can hide text; others are not kept.
bool matters(std::string_view property) {
  static constexpr std::array<std::string_view, 22> kNames = {
      "display", "visibility", "opacity",   "font-size",  "font",        "color",      "background", "background-color",
      "width",   "height",     "max-width", "max-height", "overflow",    "overflow-x", "overflow-y", "position",
      "left",    "top",        "right",     "bottom",     "text-indent", "transform"};
  return std::find(kNames.begin(), kNames.end(), property) != kNames.end() || property.starts_with("clip") ||
         property.starts_with("margin") || property == "-webkit-text-fill-color";
}

/// Position after the block that opens at `open` ('{').
std::size_t block_end(std::string_view css, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < css.size(); ++i) {
    if (css[i] == '{') ++depth;
    if (css[i] == '}' && --depth == 0) return i;
  }
  return css.size();
}

void overlay(Declarations& onto, const Declarations& more) {
  for (const auto& [property, value] : more) onto[property] = value;
}

}  // namespace

void parse_declarations(std::string_view text, Declarations& normal, Declarations& important) {
  const std::string clean = without_comments(text);
  std::string_view rest = clean;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    const std::string_view declaration = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t colon = declaration.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string property = lower(strip(declaration.substr(0, colon)));
    std::string value = lower(strip(declaration.substr(colon + 1)));
    if (!matters(property) || value.empty()) continue;
    const std::size_t mark = value.find('!');
    const bool is_important = mark != std::string::npos && value.find("important", mark) != std::string::npos;
    if (mark != std::string::npos) value = std::string(strip(std::string_view(value).substr(0, mark)));
    (is_important ? important : normal)[property] = value;
  }
}

void StyleSheet::add(std::string_view css) {
  const std::string clean = without_comments(css);
  std::string_view rest = clean;
  // "<!--" and "-->" are blanks in style sheets.
  while (!rest.empty()) {
    const std::size_t open = rest.find('{');
    if (open == std::string_view::npos) return;
    std::string_view head = strip(rest.substr(0, open));
    if (const std::size_t statement = head.rfind(';'); statement != std::string_view::npos)
      head = strip(head.substr(statement + 1));
    if (head.starts_with("<!--")) head = strip(head.substr(4));
    if (head.starts_with("-->")) head = strip(head.substr(3));
    const std::size_t close = block_end(rest, open);
    const std::string_view body = rest.substr(open + 1, close - std::min(close, open + 1));
    if (head.starts_with('@')) {
      const std::string rule = lower(head);
      if (rule == "@media screen" || rule == "@media all" || rule == "@media only screen") add(body);
    } else {
      add_rule(head, body);
    }
    rest.remove_prefix(std::min(close + 1, rest.size()));
  }
}

void StyleSheet::add_rule(std::string_view selectors, std::string_view body) {
  Body parsed;
  parse_declarations(body, parsed.normal, parsed.important);
  if (parsed.normal.empty() && parsed.important.empty()) return;
  bodies_.push_back(std::move(parsed));
  while (!selectors.empty() && rules_.size() < kMaxRules) {
    const std::size_t comma = std::min(selectors.find(','), selectors.size());
    Rule rule;
    rule.declarations = bodies_.size() - 1;
    if (parse_selector(strip(selectors.substr(0, comma)), rule)) {
      const Compound& last = rule.selector.back();
      const std::string key = !last.id.empty()        ? "#" + last.id
                              : !last.classes.empty() ? "." + last.classes.front()
                              : !last.tag.empty()     ? last.tag
                                                      : "*";
      by_key_[key].push_back(rules_.size());
      rules_.push_back(std::move(rule));
    }
    selectors.remove_prefix(std::min(comma + 1, selectors.size()));
  }
}

bool StyleSheet::parse_selector(std::string_view text, Rule& rule) {
  bool child = false;
  std::size_t at = 0;
  while (at < text.size()) {
    if (is_space(text[at])) {
      ++at;
      continue;
    }
    if (text[at] == '>') {
      child = true;
      ++at;
      continue;
    }
    Compound compound;
    compound.child_of_previous = child;
    child = false;
    while (at < text.size() && !is_space(text[at]) && text[at] != '>') {
      const char kind = text[at];
      if (kind == '*') {
        ++at;
        continue;
      }
      if (kind == '.' || kind == '#') ++at;
      const std::size_t begin = at;
      while (at < text.size() && is_name(text[at])) ++at;
      if (at == begin) return false;  // attributes, pseudo-classes, siblings, escapes
      const std::string_view name = text.substr(begin, at - begin);
      if (kind == '.') {
        compound.classes.emplace_back(name);
        rule.specificity += 100;
      } else if (kind == '#') {
        compound.id = name;
        rule.specificity += 10'000;
      } else {
        compound.tag = lower(name);
        rule.specificity += 1;
      }
    }
    rule.selector.push_back(std::move(compound));
    if (rule.selector.size() > 16) return false;
  }
  return !rule.selector.empty();
}

bool StyleSheet::matches(const Compound& compound, const StyledElement& element) {
  if (!compound.tag.empty() && compound.tag != element.tag) return false;
  if (!compound.id.empty() && compound.id != element.id) return false;
  return std::all_of(compound.classes.begin(), compound.classes.end(), [&](const std::string& name) {
    return std::find(element.classes.begin(), element.classes.end(), name) != element.classes.end();
  });
}

bool StyleSheet::matches(const Rule& rule, const StyledElement& element) {
  if (!matches(rule.selector.back(), element)) return false;
  const StyledElement* at = &element;
  for (std::size_t i = rule.selector.size() - 1; i > 0; --i) {
    const bool child = rule.selector[i].child_of_previous;
    at = at->parent;
    // The nearest ancestor that fits is taken; a combination that needs another one is missed.
    while (at != nullptr && !child && !matches(rule.selector[i - 1], *at)) at = at->parent;
    if (at == nullptr || !matches(rule.selector[i - 1], *at)) return false;
  }
  return true;
}

Declarations StyleSheet::match(const StyledElement& element, std::string_view inline_style) const {
  std::vector<std::size_t> found;
  const auto look = [&](const std::string& key) {
    const auto rules = by_key_.find(key);
    if (rules == by_key_.end()) return;
    for (const std::size_t rule : rules->second) {
      if (matches(rules_[rule], element)) found.push_back(rule);
    }
  };
  if (!rules_.empty()) {
    look("*");
    look(std::string(element.tag));
    if (!element.id.empty()) look("#" + std::string(element.id));
    for (const std::string_view name : element.classes) look("." + std::string(name));
  }
  std::sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(rules_[a].specificity, a) < std::pair(rules_[b].specificity, b);
  });
  Declarations result;
  Declarations inline_normal;
  Declarations inline_important;
  parse_declarations(inline_style, inline_normal, inline_important);
  for (const std::size_t rule : found) overlay(result, bodies_[rules_[rule].declarations].normal);
  overlay(result, inline_normal);
  for (const std::size_t rule : found) overlay(result, bodies_[rules_[rule].declarations].important);
  overlay(result, inline_important);
  return result;
}

}  // namespace casemate
