// formats/css.h
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace casemate {

/// Property -> value, both lower-case and without "!important".
using Declarations = std::map<std::string, std::string, std::less<>>;

/// What selectors look at. `parent` is null at the root.
struct StyledElement {
  std::string_view tag;
  std::string_view id;
  std::vector<std::string_view> classes;
  const StyledElement* parent = nullptr;
};

/// Reads "a: b; c: d !important" into `normal` and `important`. Broken declarations are skipped.
void parse_declarations(std::string_view text, Declarations& normal, Declarations& important);

/// The rules of a page's <style> elements, as far as hiding text is concerned: selectors of tags, classes, ids and `*`
/// with descendant and child combinators. Rules with anything else (attributes, pseudo-classes, siblings) are left out,
/// and so are at-rules, but for the contents of @media screen and @media all.
class StyleSheet {
 public:
  void add(std::string_view css);
  /// The declarations that hold for `element`, by specificity and order, then `inline_style`, then !important ones.
  [[nodiscard]] Declarations match(const StyledElement& element, std::string_view inline_style) const;
  [[nodiscard]] bool empty() const noexcept { return rules_.empty(); }

 private:
  struct Compound {
    std::string tag;  ///< empty: any
    std::string id;
    std::vector<std::string> classes;
    bool child_of_previous = false;  ///< ">" rather than a blank before it
  };
  struct Rule {
    std::vector<Compound> selector;  ///< outermost first
    int specificity = 0;
    std::size_t declarations = 0;
  };

  void add_rule(std::string_view selectors, std::string_view body);
  [[nodiscard]] static bool parse_selector(std::string_view text, Rule& rule);
  [[nodiscard]] static bool matches(const Compound& compound, const StyledElement& element);
  [[nodiscard]] static bool matches(const Rule& rule, const StyledElement& element);

  struct Body {
    Declarations normal;
    Declarations important;
  };
  std::vector<Rule> rules_;
  std::vector<Body> bodies_;
  std::unordered_map<std::string, std::vector<std::size_t>>
      by_key_;  ///< "#id", ".class", "tag" or "*" of the last compound
};

}  // namespace casemate
