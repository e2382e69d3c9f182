#include "casemate/text/answer_match.h"

#include <unicode/uchar.h>

#include <map>

#include "casemate/core/utf8.h"
#include "text/lower_words.h"

namespace casemate {
namespace {

bool is_ascii_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/// A character that continues a word for the articles' word boundaries.
bool is_word_character(char32_t c) {
  const std::uint32_t letters_and_numbers = U_GC_L_MASK | U_GC_N_MASK;
  if (c == kInvalidCodePoint) return false;
  return c == U'_' || (U_MASK(u_charType(static_cast<UChar32>(c))) & letters_and_numbers) != 0;
}

bool is_article(std::string_view word) { return word == "a" || word == "an" || word == "the"; }

/// Puts a blank in the place of each article that stands between word boundaries.
std::string without_articles(std::string_view text) {
  std::string out;
  std::string run;
  const auto flush = [&] {
    out += is_article(run) ? " " : run;
    run.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = read_code_point(text, at);
    const std::string_view piece = text.substr(at, c.length);
    at += c.length;
    if (is_word_character(c.value)) {
      run += piece;
    } else {
      flush();
      out += piece;
    }
  }
  flush();
  return out;
}

}  // namespace

std::vector<std::string> answer_words(std::string_view text) {
  std::string kept;
  for (const char c : lower_case(text)) {
    if (!is_ascii_punctuation(c)) kept.push_back(c);
  }
  return split_white_space(without_articles(kept));
}

std::string normalize_answer(std::string_view text) {
  std::string out;
  for (const std::string& word : answer_words(text)) out += (out.empty() ? "" : " ") + word;
  return out;
}

double exact_match(std::string_view prediction, std::string_view reference) {
  return normalize_answer(prediction) == normalize_answer(reference) ? 1 : 0;
}

double token_f1(std::string_view prediction, std::string_view reference) {
  const std::vector<std::string> predicted = answer_words(prediction);
  const std::vector<std::string> expected = answer_words(reference);
  std::map<std::string_view, int> counts;
  for (const std::string& word : expected) ++counts[word];
  int common = 0;
  for (const std::string& word : predicted) {
    const auto it = counts.find(word);
    if (it == counts.end() || it->second == 0) continue;
    --it->second;
    ++common;
  }
  if (common == 0) return 0;
  const double precision = common / static_cast<double>(predicted.size());
  const double recall = common / static_cast<double>(expected.size());
  return 2 * precision * recall / (precision + recall);
}

bool contains_answer(std::string_view text, std::string_view part) {
  const std::string whole = " " + normalize_answer(text) + " ";
  const std::string wanted = normalize_answer(part);
  return !wanted.empty() && whole.find(" " + wanted + " ") != std::string::npos;
}

bool is_abstention(std::string_view answer) {
  std::string folded;
  for (const std::string& word : split_white_space(lower_case(answer))) folded += (folded.empty() ? "" : " ") + word;
  if (folded.empty()) return true;
  for (const std::string_view apostrophe : {"\u2019", "\u2018", "\u02BC", "\uFF07", "`", "\u00B4"}) {
    for (std::size_t at = folded.find(apostrophe); at != std::string::npos; at = folded.find(apostrophe, at))
      folded.replace(at, apostrophe.size(), "'");
  }
  return folded.find("i don't") != std::string::npos;
}

}  // namespace casemate
