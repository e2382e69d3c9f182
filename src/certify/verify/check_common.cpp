#include <algorithm>
#include <string>
#include <string_view>

#include "certify/verify/checks.h"

namespace casemate::verify {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

}  // namespace

Attacker attacker_of(std::int64_t k_prime, std::int64_t stable, std::int64_t unstable) {
  return {std::min(k_prime, stable), unstable};
}

bool hides_abstention(const UntrustedText& answer, bool abstains) {
  if (abstains) return false;
  std::string text = answer.bytes();
  std::transform(text.begin(), text.end(), text.begin(), lower);
  const bool blank = std::all_of(text.begin(), text.end(), is_blank);
  return blank || text.find("i don't") != std::string::npos || text.find("i don\u2019t") != std::string::npos;
}

std::string normal_form(const std::string& text) {
  std::string out;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty() && word != "a" && word != "an" && word != "the") {
      if (!out.empty()) out += ' ';
      out += word;
    }
    word.clear();
  };
  // The character before, and the one after, decide whether punctuation belongs to a number.
  char before = ' ';
  for (auto at = text.begin(); at != text.end(); ++at) {
    const char after = at + 1 == text.end() ? ' ' : *(at + 1);
    if (is_blank(*at)) {
      end_word();
    } else if (!is_punctuation(*at) || is_digit(after) || (*at == '%' && is_digit(before))) {
      word += lower(*at);
    }
    before = *at;
  }
  end_word();
  return out;
}

}  // namespace casemate::verify
