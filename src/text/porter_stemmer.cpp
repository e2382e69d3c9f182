#include "casemate/text/porter_stemmer.h"

#include <array>
#include <span>
#include <utility>

namespace casemate {
namespace {

bool is_consonant(std::string_view word, std::size_t i) {
  switch (word[i]) {
    case 'a':
    case 'e':
    case 'i':
    case 'o':
    case 'u':
      return false;
    case 'y':
      return i == 0 || !is_consonant(word, i - 1);
    default:
      return true;
  }
}

/// m in Porter's [C](VC)^m[V].
int measure(std::string_view stem) {
  int count = 0;
  bool vowel = false;
  for (std::size_t i = 0; i < stem.size(); ++i) {
    const bool consonant = is_consonant(stem, i);
    count += consonant && vowel ? 1 : 0;
    vowel = !consonant;
  }
  return count;
}

bool has_measure(std::string_view stem) { return measure(stem) > 0; }
bool has_large_measure(std::string_view stem) { return measure(stem) > 1; }

bool has_vowel(std::string_view stem) {
  for (std::size_t i = 0; i < stem.size(); ++i) {
    if (!is_consonant(stem, i)) return true;
  }
  return false;
}

bool ends_double_consonant(std::string_view word) {
  return word.size() >= 2 && word[word.size() - 1] == word[word.size() - 2] && is_consonant(word, word.size() - 1);
}

/// Porter's *o, and for NLTK also two letters, vowel and consonant.
bool ends_cvc(std::string_view word) {
  const std::size_t n = word.size();
  if (n >= 3) {
    const char last = word[n - 1];
    return is_consonant(word, n - 3) && !is_consonant(word, n - 2) && is_consonant(word, n - 1) && last != 'w' &&
           last != 'x' && last != 'y';
  }
  return n == 2 && !is_consonant(word, 0) && is_consonant(word, 1);
}

struct Rule {
  std::string_view suffix;
  std::string_view replacement;
  bool (*condition)(std::string_view stem);
};

/// The first rule whose suffix the word has decides, whether its condition holds or not.
std::string apply(std::string_view word, std::span<const Rule> rules) {
  for (const Rule& rule : rules) {
    if (!word.ends_with(rule.suffix)) continue;
    const std::string_view stem = word.substr(0, word.size() - rule.suffix.size());
    if (rule.condition != nullptr && !rule.condition(stem)) return std::string(word);
    return std::string(stem) + std::string(rule.replacement);
  }
  return std::string(word);
}

std::string without(std::string_view word, std::size_t letters, std::string_view instead = {}) {
  return std::string(word.substr(0, word.size() - letters)) + std::string(instead);
}

std::string step_1a(std::string_view word) {
  if (word.ends_with("ies") && word.size() == 4) return without(word, 3, "ie");
  constexpr std::array kRules = {Rule{"sses", "ss", nullptr}, Rule{"ies", "i", nullptr}, Rule{"ss", "ss", nullptr},
                                 Rule{"s", "", nullptr}};
  return apply(word, kRules);
}

std::string step_1b(std::string_view word) {
  if (word.ends_with("ied")) return without(word, 3, word.size() == 4 ? "ie" : "i");
  if (word.ends_with("eed")) return has_measure(word.substr(0, word.size() - 3)) ? without(word, 1) : std::string(word);
  std::string stem;
  for (const std::string_view suffix : {"ed", "ing"}) {
    if (!word.ends_with(suffix)) continue;
    stem = without(word, suffix.size());
    if (has_vowel(stem)) break;
    stem.clear();
  }
  if (stem.empty()) return std::string(word);
  if (stem.ends_with("at") || stem.ends_with("bl") || stem.ends_with("iz")) return stem + "e";
  if (ends_double_consonant(stem)) {
    const char last = stem.back();
    return last == 'l' || last == 's' || last == 'z' ? stem : without(stem, 1);
  }
  return measure(stem) == 1 && ends_cvc(stem) ? stem + "e" : stem;
}

std::string step_1c(std::string_view word) {
  if (!word.ends_with('y')) return std::string(word);
  const std::string_view stem = word.substr(0, word.size() - 1);
  return stem.size() > 1 && is_consonant(stem, stem.size() - 1) ? std::string(stem) + "i" : std::string(word);
}

std::string step_2(std::string_view word) {
  if (word.ends_with("alli") && has_measure(word.substr(0, word.size() - 4))) return step_2(without(word, 2));
  constexpr std::array kRules = {
      Rule{"ational", "ate", has_measure}, Rule{"tional", "tion", has_measure}, Rule{"enci", "ence", has_measure},
      Rule{"anci", "ance", has_measure},   Rule{"izer", "ize", has_measure},    Rule{"bli", "ble", has_measure},
      Rule{"alli", "al", has_measure},     Rule{"entli", "ent", has_measure},   Rule{"eli", "e", has_measure},
      Rule{"ousli", "ous", has_measure},   Rule{"ization", "ize", has_measure}, Rule{"ation", "ate", has_measure},
      Rule{"ator", "ate", has_measure},    Rule{"alism", "al", has_measure},    Rule{"iveness", "ive", has_measure},
      Rule{"fulness", "ful", has_measure}, Rule{"ousness", "ous", has_measure}, Rule{"aliti", "al", has_measure},
      Rule{"iviti", "ive", has_measure},   Rule{"biliti", "ble", has_measure},  Rule{"fulli", "ful", has_measure}};
  // NLTK measures what stands before "ogi", with the l.
  if (word.ends_with("logi"))
    return has_measure(word.substr(0, word.size() - 3)) ? without(word, 1) : std::string(word);
  return apply(word, kRules);
}

std::string step_3(std::string_view word) {
  constexpr std::array kRules = {Rule{"icate", "ic", has_measure}, Rule{"ative", "", has_measure},
                                 Rule{"alize", "al", has_measure}, Rule{"iciti", "ic", has_measure},
                                 Rule{"ical", "ic", has_measure},  Rule{"ful", "", has_measure},
                                 Rule{"ness", "", has_measure}};
  return apply(word, kRules);
}

bool after_ion(std::string_view stem) { return has_large_measure(stem) && (stem.back() == 's' || stem.back() == 't'); }

std::string step_4(std::string_view word) {
  constexpr std::array kRules = {
      Rule{"al", "", has_large_measure},   Rule{"ance", "", has_large_measure}, Rule{"ence", "", has_large_measure},
      Rule{"er", "", has_large_measure},   Rule{"ic", "", has_large_measure},   Rule{"able", "", has_large_measure},
      Rule{"ible", "", has_large_measure}, Rule{"ant", "", has_large_measure},  Rule{"ement", "", has_large_measure},
      Rule{"ment", "", has_large_measure}, Rule{"ent", "", has_large_measure},  Rule{"ion", "", after_ion},
      Rule{"ou", "", has_large_measure},   Rule{"ism", "", has_large_measure},  Rule{"ate", "", has_large_measure},
      Rule{"iti", "", has_large_measure},  Rule{"ous", "", has_large_measure},  Rule{"ive", "", has_large_measure},
      Rule{"ize", "", has_large_measure}};
  return apply(word, kRules);
}

std::string step_5(std::string word) {
  if (word.ends_with('e')) {
    const std::string_view stem = std::string_view(word).substr(0, word.size() - 1);
    const int m = measure(stem);
    if (m > 1 || (m == 1 && !ends_cvc(stem))) word.pop_back();
  }
  if (word.ends_with("ll") && measure(std::string_view(word).substr(0, word.size() - 1)) > 1) word.pop_back();
  return word;
}

std::string_view irregular(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kForms = {{{"sky", "sky"},
                                                                                     {"skies", "sky"},
                                                                                     {"dying", "die"},
                                                                                     {"lying", "lie"},
                                                                                     {"tying", "tie"},
                                                                                     {"news", "news"},
                                                                                     {"innings", "inning"},
                                                                                     {"inning", "inning"},
                                                                                     {"outings", "outing"},
                                                                                     {"outing", "outing"},
                                                                                     {"cannings", "canning"},
                                                                                     {"canning", "canning"},
                                                                                     {"howe", "howe"},
                                                                                     {"proceed", "proceed"},
                                                                                     {"exceed", "exceed"},
                                                                                     {"succeed", "succeed"}}};
  for (const auto& [form, stem] : kForms) {
    if (form == word) return stem;
  }
  return {};
}

}  // namespace

std::string porter_stem(std::string_view word) {
  std::string lower(word);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (const std::string_view known = irregular(lower); !known.empty()) return std::string(known);
  if (lower.size() <= 2) return lower;
  std::string out = step_1c(step_1b(step_1a(lower)));
  return step_5(step_4(step_3(step_2(out))));
}

}  // namespace casemate
