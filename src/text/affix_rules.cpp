#include "text/affix_rules.h"

#include <algorithm>

#include "casemate/core/utf8.h"
#include "text/character_kinds.h"

namespace casemate {
namespace {

using Text = std::span<const char32_t>;

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }

bool starts_with(Text text, std::u32string_view start) {
  return text.size() >= start.size() && std::equal(start.begin(), start.end(), text.begin());
}

bool ends_with(Text text, std::u32string_view end) {
  return text.size() >= end.size() && std::equal(end.rbegin(), end.rend(), text.rbegin());
}

/// Length of the run of '.' at the front.
std::size_t dots(Text text) {
  std::size_t n = 0;
  while (n < text.size() && text[n] == '.') ++n;
  return n;
}

Result<std::vector<std::u32string>> read_words(const TaggerFile& file, std::string_view section) {
  const auto table = file.table(section, 1);
  if (!table) return table.error();
  std::vector<std::u32string> words;
  for (const TaggerRecord& record : *table) {
    std::u32string& word = words.emplace_back();
    for (std::size_t at = 0; at < record[0].size();) {
      const CodePoint next = read_code_point(record[0], at);
      word += next.value;
      at += next.length;
    }
  }
  return words;
}

}  // namespace

Result<AffixRules> AffixRules::create(const TaggerFile& file) {
  AffixRules rules;
  const std::pair<const char*, CharacterClass*> classes[] = {
      {"class_alpha", &rules.alpha_},          {"class_lower", &rules.lower_},   {"class_upper", &rules.upper_},
      {"class_quote", &rules.quote_},          {"class_icon", &rules.icon_},     {"class_prefix", &rules.prefix_},
      {"class_period", &rules.before_period_}, {"class_suffix", &rules.suffix_},
  };
  for (const auto& [section, target] : classes) {
    auto read = CharacterClass::read(file, section);
    if (!read) return read.error();
    *target = *std::move(read);
  }
  auto units = read_words(file, "units");
  if (!units) return units.error();
  rules.units_ = *std::move(units);
  auto currencies = read_words(file, "currencies");
  if (!currencies) return currencies.error();
  rules.currencies_ = *std::move(currencies);
  return rules;
}

std::size_t AffixRules::prefix(Text text) const noexcept {
  if (text.empty()) return 0;
  if (text[0] == '+') return text.size() > 1 && is_digit(text[1]) ? 0 : 1;
  if (text[0] == '.') return dots(text) >= 2 ? dots(text) : 0;
  if (prefix_.contains(text[0])) return 1;
  for (const std::u32string& currency : currencies_) {
    if (starts_with(text, currency)) return currency.size();
  }
  return 0;
}

std::size_t AffixRules::suffix(Text text) const noexcept {
  if (text.empty()) return 0;
  const std::size_t size = text.size();
  const char32_t last = text[size - 1];
  const char32_t before = size > 1 ? text[size - 2] : 0;
  std::size_t longest = suffix_.contains(last) ? 1 : 0;
  if (last == U'…' && before == U'…') longest = 2;
  if ((last == 's' || last == 'S') && (before == '\'' || before == U'’')) longest = 2;
  if (last == '+' && is_digit(before)) longest = 1;
  if (last == '.' && size > 1) {
    std::size_t run = 1;
    while (run < size && text[size - run - 1] == '.') ++run;
    if (run >= 2) return run;
    const char32_t third = size > 2 ? text[size - 3] : 0;
    const bool degree = third == U'°' && (before == 'F' || before == 'f' || before == 'C' || before == 'c' ||
                                          before == 'K' || before == 'k');
    if (degree || before_period_.contains(before) || (upper_.contains(before) && upper_.contains(third))) longest = 1;
  }
  for (const auto* words : {&units_, &currencies_}) {
    for (const std::u32string& word : *words) {
      if (word.size() > longest && size > word.size() && is_digit(text[size - word.size() - 1]) &&
          ends_with(text, word))
        longest = word.size();
    }
  }
  return longest;
}

std::size_t AffixRules::infix_at(Text text, std::size_t at) const noexcept {
  const Text rest = text.subspan(at);
  const char32_t c = rest[0];
  if (c == '.' && dots(rest) >= 2) return dots(rest);
  if (c == U'…' || icon_.contains(c)) return 1;
  if (at == 0 || rest.size() < 2) return 0;
  const char32_t before = text[at - 1];
  const char32_t after = rest[1];
  switch (c) {
    case '.':
      return (lower_.contains(before) || quote_.contains(before)) && (upper_.contains(after) || quote_.contains(after));
    case ',':
      return alpha_.contains(before) && alpha_.contains(after);
    case '+':
    case '*':
    case '^':
      return is_digit(before) && (is_digit(after) || after == '-');
    case ':':
    case '<':
    case '>':
    case '=':
    case '/':
      return (alpha_.contains(before) || is_digit(before)) && alpha_.contains(after);
    case '-':
    case U'–':
    case U'—':
    case '~': {
      if (c == '-' && is_digit(before) && (is_digit(after) || after == '-')) return 1;
      if (!alpha_.contains(before) && !is_digit(before)) return 0;
      for (const std::u32string_view hyphen : {U"-", U"–", U"—", U"--", U"---", U"——", U"~"}) {
        if (starts_with(rest, hyphen) && rest.size() > hyphen.size() && alpha_.contains(rest[hyphen.size()]))
          return hyphen.size();
      }
      return 0;
    }
    default:
      return 0;
  }
}

std::vector<CharSpan> AffixRules::infixes(Text text) const {
  std::vector<CharSpan> found;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = infix_at(text, at);
    if (length > 0) found.push_back({at, at + length});
    at += std::max<std::size_t>(length, 1);
  }
  return found;
}

namespace {

bool is_host_character(char32_t c) { return (c < 0x80 && (is_digit(c) || is_letter(c))) || (c >= 0xA1 && c <= 0xFFFF); }

/// True where `text` is labels, a top-level domain, and perhaps a port and a path.
bool is_host_and_path(Text text, const CharacterClass& lower) {
  std::size_t end = 0;
  while (end < text.size() &&
         (is_host_character(text[end]) || text[end] == '.' || text[end] == '-' || text[end] == '_'))
    ++end;
  const Text host = text.first(end);
  std::size_t label = 0;  // where the current label begins
  for (std::size_t at = 0; at < end; ++at) {
    if (host[at] != '.') continue;
    if (at == label || at - label > 64 || !is_host_character(host[label]) || !is_host_character(host[at - 1]))
      return false;
    label = at + 1;
  }
  const Text top = host.subspan(label);
  if (label == 0 || top.size() < 2 || top.size() > 63) return false;
  if (!std::all_of(top.begin(), top.end(), [&](char32_t c) { return lower.contains(c); })) return false;
  Text rest = text.subspan(end);
  if (!rest.empty() && rest[0] == ':') {
    std::size_t digits = 0;
    while (digits + 1 < rest.size() && is_digit(rest[digits + 1])) ++digits;
    if (digits < 2 || digits > 5) return false;
    rest = rest.subspan(digits + 1);
  }
  return rest.empty() || rest[0] == '/' || rest[0] == '?' || rest[0] == '#';
}

}  // namespace

bool AffixRules::is_address(Text text) const noexcept {
  if (std::find(text.begin(), text.end(), U'.') == text.end()) return false;
  if (is_host_and_path(text, lower_)) return true;
  const auto in_scheme = [](char32_t c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '+' || c == '-' || c == '.';
  };
  std::size_t scheme = 0;
  while (scheme < text.size() && in_scheme(text[scheme])) ++scheme;
  if (scheme >= 2 && starts_with(text.subspan(scheme), U"://") && is_host_and_path(text.subspan(scheme + 3), lower_))
    return true;
  // After each @; hosts hold none, so that this is linear.
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '@' && is_host_and_path(text.subspan(at + 1), lower_)) return true;
  }
  return false;
}

}  // namespace casemate
