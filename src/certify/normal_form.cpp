#include "casemate/certify/normal_form.h"

#include <algorithm>

namespace casemate::certify {

std::string normal_form(std::string_view text) {
  constexpr std::string_view kPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
  constexpr std::string_view kBlank = " \t\n\v\f\r";
  const auto digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool of_a_number = digit(i + 1) || (c == '%' && i > 0 && digit(i - 1));
    if (kPunctuation.find(c) != std::string_view::npos && !of_a_number) continue;
    const bool upper = c >= 'A' && c <= 'Z';
    plain += kBlank.find(c) != std::string_view::npos ? ' ' : upper ? static_cast<char>(c | 0x20) : c;
  }
  std::string out;
  for (std::size_t begin = plain.find_first_not_of(' '); begin != std::string::npos;) {
    const std::size_t end = std::min(plain.find(' ', begin), plain.size());
    const std::string_view word = std::string_view(plain).substr(begin, end - begin);
    if (word != "a" && word != "an" && word != "the") {
      if (!out.empty()) out += ' ';
      out += word;
    }
    begin = plain.find_first_not_of(' ', end);
  }
  return out;
}

}  // namespace casemate::certify
